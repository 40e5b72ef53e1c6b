package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const monitoring = "../../../tools/monitoring/"

var (
	metricName = regexp.MustCompile(`\bmsgx_[a-z0-9_]+`)
	familyHelp = regexp.MustCompile(`(?m)^# HELP (msgx_\S+) (.*)$`)
)

// family is the name under which a series is documented: a histogram has three.
func family(series string, known map[string]string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, cut := strings.CutSuffix(series, suffix); cut && known[name] != "" {
			return name
		}
	}
	return series
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Alerts and dashboard ask for metrics that a daemon has; the README tells every metric, and what to do about every alert.
func TestMonitoringIsOfWhatTheDaemonTells(t *testing.T) {
	s := newSite(t, nil, "rules.shadow=../../..")
	s.put(schedule(1, 20))
	odd := stand(1, "12")
	s.put(odd, odd)
	d := s.start()
	s.settled()
	s.until("the shadow to have decided", func() (string, bool) {
		text := s.body(d, "/metrics")
		return text, strings.Contains(text, "msgx_rules_shadow_messages_total{")
	})
	known := map[string]string{}
	for _, m := range familyHelp.FindAllStringSubmatch(s.body(d, "/metrics"), -1) {
		known[m[1]] = m[2]
	}
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	// Their first series comes with the first difference.
	for _, rare := range []string{"msgx_rules_shadow_differences_total"} {
		if known[rare] == "" {
			known[rare] = "Messages of which the shadow decides otherwise, by kind."
		}
	}
	readme := readFile(t, monitoring+"README.md")
	for name, help := range known {
		if want := fmt.Sprintf("| `%s` | %s |", name, help); !strings.Contains(readme, want) {
			t.Errorf("README.md lacks the line\n%s", want)
		}
	}
	for _, file := range []string{"README.md", "alerts.yaml", "dashboard.json"} {
		for _, series := range metricName.FindAllString(readFile(t, monitoring+file), -1) {
			if known[family(series, known)] == "" {
				t.Errorf("%s: there is no metric %s", file, series)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, monitoring+"alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, r := range rules.Groups[0].Rules {
		alerts = append(alerts, r.Alert)
		if r.Expr == "" || r.Annotations["summary"] == "" || !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
			t.Errorf("%s: it needs an expression, a summary and a severity of page or ticket", r.Alert)
		}
		if want := "tools/monitoring/README.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s: runbook %s, want %s", r.Alert, r.Annotations["runbook"], want)
		}
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^### (Msgx\w+)$`).FindAllStringSubmatch(readme, -1) {
		sections = append(sections, m[1])
	}
	if !slices.Equal(alerts, sections) {
		t.Errorf("alerts %v\nbut the runbook has %v", alerts, sections)
	}
	var dashboard struct{ Panels []struct{ Title string } }
	if err := json.Unmarshal([]byte(readFile(t, monitoring+"dashboard.json")), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Errorf("dashboard: %d panels, %v", len(dashboard.Panels), err)
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.Command(promtool, "check", "rules", monitoring+"alerts.yaml").CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}
