package entry

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"strings"
)

// The ways to know who may send.
const (
	AuthOff       = "off" // there is no entry
	AuthNone      = "none"
	AuthToken     = "token"
	AuthAllowList = "allow-list"
)

// minToken is the shortest token: what is shorter can be guessed.
const minToken = 16

// Options are the settings of the entry.
type Options struct {
	Auth  string
	Token string   // of AuthToken
	Allow []string // of AuthAllowList: addresses, or prefixes such as 10.1.0.0/16
	// MaxBytes is the largest body.
	MaxBytes int64
	// Answer is a text/template over Answer, for clients that expect a certain text; "" answers JSON. AnswerType is its content type.
	Answer, AnswerType string
}

// guard decides who may send.
type guard struct {
	auth  string
	token [sha256.Size]byte
	allow []netip.Prefix
}

func newGuard(o Options) (guard, error) {
	g := guard{auth: o.Auth, token: sha256.Sum256([]byte(o.Token))}
	switch o.Auth {
	case AuthNone:
	case AuthToken:
		if len(o.Token) < minToken {
			return g, fmt.Errorf("msgx.compat.token has %d characters, expected at least %d for msgx.compat.auth token", len(o.Token), minToken)
		}
	case AuthAllowList:
		if len(o.Allow) == 0 {
			return g, errors.New("msgx.compat.allow is empty, expected addresses for msgx.compat.auth allow-list")
		}
	default:
		return g, fmt.Errorf("msgx.compat.auth is %q, expected none, token or allow-list", o.Auth)
	}
	for i, text := range o.Allow {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return g, fmt.Errorf("msgx.compat.allow[%d] is %q, expected an address such as 10.1.2.3 or a prefix such as 10.1.0.0/16", i, text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		g.allow = append(g.allow, prefix)
	}
	return g, nil
}

// refuses tells the status of a request that may not send, 0 for one that may. The address is that of the connection: what a
// header says of it anybody can say.
func (g *guard) refuses(r *http.Request) (status int, reason string) {
	switch g.auth {
	case AuthToken:
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
			return http.StatusUnauthorized, "the token is missing or wrong, expected Authorization: Bearer TOKEN"
		}
	case AuthAllowList:
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return http.StatusForbidden, "the address of the client is not known"
		}
		for _, prefix := range g.allow {
			if prefix.Contains(at.Addr().Unmap()) {
				return 0, ""
			}
		}
		return http.StatusForbidden, "this address may not send"
	}
	return 0, ""
}

// charsetOf is the charset that a request names, "" for none. A content type that cannot be read counts as none.
func charsetOf(h http.Header) (charset, reason string) {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", "the body is compressed, expected it as it is"
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "", ""
	}
	if strings.HasPrefix(kind, "multipart/") {
		return "", "the body has several parts, expected the message alone"
	}
	return parameters["charset"], ""
}

func (e *Entry) read(w http.ResponseWriter, r *http.Request) (body []byte, status int, reason string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.options.MaxBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large, expected at most %d bytes", e.options.MaxBytes)
	case err != nil:
		return nil, http.StatusBadRequest, "the body ended too early"
	case len(bytes.TrimSpace(body)) == 0:
		return nil, http.StatusBadRequest, "the body is empty, expected a message"
	}
	return body, 0, ""
}
