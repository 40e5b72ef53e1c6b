package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"msgx/engine/nearest"
)

const prefix = "msgx."

// Sources are where a configuration comes from; the later wins.
type Sources struct {
	File string   // YAML; "" reads none
	Env  []string // as os.Environ gives it; MSGX_PIPELINE_POLL_INTERVAL is msgx.pipeline.poll-interval
	Set  []string // key=value, from flags
}

// reservedEnv are variables of ours that are not parameters.
var reservedEnv = []string{"MSGX_CONFIG", "MSGX_STACK_"}

// Load reads, checks and returns the configuration. All faults are reported at
// once, each with the key, what was found and what was expected.
func Load(s Sources) (*Config, error) {
	k := koanf.New(".")
	defaults := map[string]any{}
	for _, p := range Parameters() {
		defaults[prefix+p.Key] = p.Default
	}
	if err := k.Load(confmap.Provider(defaults, "."), nil); err != nil {
		return nil, fmt.Errorf("configuration: defaults: %w", err)
	}
	if s.File != "" {
		if err := k.Load(file.Provider(s.File), yaml.Parser()); err != nil {
			return nil, fmt.Errorf("configuration: file %s: %w", s.File, err)
		}
	}
	overrides, faults := overridesOf(s)
	if err := k.Load(confmap.Provider(overrides, "."), nil); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	faults = append(faults, unknownKeys(k.Keys())...)
	faults = append(faults, readSecrets(k)...)
	c, err := decode(k)
	if err != nil {
		faults = append(faults, err)
		return nil, join(faults)
	}
	faults = append(faults, checkBounds(k)...)
	faults = append(faults, c.check()...)
	if len(faults) > 0 {
		return nil, join(faults)
	}
	return c, nil
}

func join(faults []error) error {
	return fmt.Errorf("configuration: %w", errors.Join(faults...))
}

// overridesOf collects what environment and flags say, by full key.
func overridesOf(s Sources) (map[string]any, []error) {
	overrides := map[string]any{}
	var faults []error
	byEnv := map[string]string{}
	for _, p := range Parameters() {
		byEnv[EnvName(p.Key)] = p.Key
	}
	for _, entry := range s.Env {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "MSGX_") || slices.ContainsFunc(reservedEnv, func(r string) bool { return strings.HasPrefix(name, r) }) {
			continue
		}
		key, known := byEnv[name]
		if !known {
			faults = append(faults, fmt.Errorf("environment variable %s names no parameter%s", name, nearest.Hint(name, keysOf(byEnv))))
			continue
		}
		overrides[prefix+key] = value
	}
	for _, entry := range s.Set {
		key, value, ok := strings.Cut(entry, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set %s: expected key=value", entry))
			continue
		}
		overrides[prefix+strings.TrimPrefix(key, prefix)] = value
	}
	return overrides, faults
}

// EnvName is the environment variable of a key.
func EnvName(key string) string {
	return "MSGX_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

func keysOf(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func unknownKeys(found []string) []error {
	known := map[string]bool{}
	var names []string
	for _, p := range Parameters() {
		known[prefix+p.Key] = true
		names = append(names, prefix+p.Key)
	}
	var faults []error
	for _, key := range found {
		if !known[key] {
			faults = append(faults, fmt.Errorf("unknown key %s%s", key, nearest.Hint(key, names)))
		}
	}
	return faults
}

func decode(k *koanf.Koanf) (*Config, error) {
	var c Config
	err := k.UnmarshalWithConf("msgx", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result:           &c,
		TagName:          "koanf",
		WeaklyTypedInput: true,
		DecodeHook:       mapstructure.ComposeDecodeHookFunc(durationHook, listHook, numberHook),
	}})
	if err != nil {
		return nil, errors.Join(unfit(err)...)
	}
	return &c, nil
}

// unfit finds in what the decoder says each value that does not fit its
// parameter, and says it as the other faults are said: key, found, expected.
func unfit(err error) []error {
	switch e := err.(type) { //nolint:errorlint // a walk through the tree of errors looks at each by itself
	case interface{ Unwrap() []error }:
		var faults []error
		for _, below := range e.Unwrap() {
			faults = append(faults, unfit(below)...)
		}
		return faults
	case *mapstructure.DecodeError:
		return []error{fmt.Errorf("%s%s: %w", prefix, e.Name(), e.Unwrap())}
	}
	if below := errors.Unwrap(err); below != nil {
		return unfit(below)
	}
	return []error{err}
}

// numberHook says of a text that is no number or no yes-or-no what it is, which
// the decoder's own words do not.
func numberHook(from, to reflect.Type, data any) (any, error) {
	if from.Kind() != reflect.String || to == reflect.TypeFor[time.Duration]() {
		return data, nil
	}
	text := strings.TrimSpace(data.(string))
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("found %q, expected a whole number", text)
		}
		return n, nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("found %q, expected a number such as 0.01", text)
		}
		return n, nil
	case reflect.Bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("found %q, expected true or false", text)
		}
		return yes, nil
	default:
		return data, nil
	}
}

var days = regexp.MustCompile(`^(\d+)d$`)

// ParseDuration reads a Go duration, or whole days such as 30d.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 36500 {
			return 0, fmt.Errorf("%q is not a duration: expected at most 36500d", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: expected such as 500ms, 10s, 72h or 30d", text)
	}
	return d, nil
}

func durationHook(from, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() || from.Kind() != reflect.String {
		if to == reflect.TypeFor[time.Duration]() && from != reflect.TypeFor[time.Duration]() {
			return nil, fmt.Errorf("%v is not a duration: expected a number with its unit, such as 10s", data)
		}
		return data, nil
	}
	return ParseDuration(data.(string))
}

// listHook reads a list of any kind as environment and flags give it: with commas.
func listHook(from, to reflect.Type, data any) (any, error) {
	if from.Kind() != reflect.String || to.Kind() != reflect.Slice {
		return data, nil
	}
	if data == "" {
		return []string{}, nil
	}
	parts := strings.Split(data.(string), ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, nil
}

// fromFile begins the value of a secret that is the content of a file.
const fromFile = "file:"

// readSecrets puts in the content of the files that secrets name.
func readSecrets(k *koanf.Koanf) []error {
	var faults []error
	for _, p := range Parameters() {
		path, named := strings.CutPrefix(k.String(prefix+p.Key), fromFile)
		if !p.Secret || !named {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil && len(bytes.TrimSpace(content)) == 0 {
			err = errors.New("the file is empty")
		}
		if err == nil {
			err = k.Set(prefix+p.Key, string(bytes.TrimSpace(content)))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s%s: %w", prefix, p.Key, err))
		}
	}
	return faults
}

// checkBounds holds each parameter to its own bounds.
func checkBounds(k *koanf.Koanf) []error {
	var faults []error
	for _, p := range Parameters() {
		value := k.Get(prefix + p.Key)
		found := fmt.Sprint(value)
		switch {
		case len(p.OneOf) > 0 && !slices.Contains(p.OneOf, found):
			faults = append(faults, fmt.Errorf("%s%s is %q, expected one of %s", prefix, p.Key, found, strings.Join(p.OneOf, ", ")))
		case p.Unit == "count":
			if n, err := strconv.ParseInt(found, 10, 64); err == nil && n < p.Min {
				faults = append(faults, fmt.Errorf("%s%s is %d, expected at least %d", prefix, p.Key, n, p.Min))
			}
		case p.Unit == "duration":
			if d, err := ParseDuration(found); err == nil && d < 0 {
				faults = append(faults, fmt.Errorf("%s%s is %s, expected 0s or more", prefix, p.Key, d))
			}
		}
	}
	return faults
}

// Shown lists every parameter with its value, secrets hidden, for the log and
// for `msgx check`.
func (c *Config) Shown() []string {
	return shown(reflect.ValueOf(*c), "")
}

func shown(v reflect.Value, at string) []string {
	var lines []string
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("koanf")
		if tag == "-" {
			continue
		}
		key := strings.TrimPrefix(at+"."+tag, ".")
		if f := v.Field(i); f.Kind() == reflect.Struct {
			lines = append(lines, shown(f, key)...)
		} else {
			lines = append(lines, fmt.Sprintf("%s%s=%v", prefix, key, hide(key, f.Interface())))
		}
	}
	return lines
}

func hide(key string, value any) any {
	for _, p := range Parameters() {
		switch {
		case p.Key != key || !p.Secret:
		case p.Whole && value != "":
			return "xxxxx"
		default:
			return hideText(fmt.Sprint(value))
		}
	}
	return value
}

var dsnPassword = regexp.MustCompile(`^([^:@/]*):.*@`)

// hideText keeps of an address what helps to recognise it, and drops the password.
func hideText(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		u.RawQuery = ""
		return u.Redacted()
	}
	text, _, _ = strings.Cut(text, "?")
	return dsnPassword.ReplaceAllString(text, "$1:xxxxx@")
}
