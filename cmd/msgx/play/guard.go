package play

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// guard lets only those in who have the address with the token, from a page of our own.
// It is in front of everything, the assets included.
func (s *Server) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a page of somebody else asked for this; only the page of msgx rules play may", http.StatusForbidden)
	}))
	inside := crossOrigin.Handler(http.StripPrefix("/"+s.token, next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the address has the token
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !s.answersTo(r.Host):
			http.Error(w, "msgx rules play does not answer to this name; open the address that it printed", http.StatusForbidden)
		case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
			http.Error(w, "the token in the address is missing or is not that of this msgx rules play; open the address that it printed", http.StatusForbidden)
		default:
			inside.ServeHTTP(w, r)
		}
	})
}

// answersTo tells whether a request was meant for us. A page that has its own name
// point at our address (DNS rebinding) has to send that name; an address in numbers, localhost, and
// the name that we were told to listen on are nobody else's. The port is not looked at, so
// that a tunnel can bring another one.
func (s *Server) answersTo(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") || (s.name != "" && strings.EqualFold(host, s.name))
}
