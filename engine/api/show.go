package api

import (
	"context"
	"encoding/json"
	"net/http"
)

// Handle serves a pattern of net/http, such as POST /cminmsgs/send, with a handler that bounds itself. It is
// called before Run.
func (s *Server) Handle(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// Show answers GET of a path with a value, as JSON; 503 with the error's text when there is none. It is
// called before Run.
func (s *Server) Show(path string, value func(ctx context.Context) (any, error)) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		v, err := value(ctx)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(v); err != nil {
			s.log.Warn("http: an answer was cut off", "path", path, "error", err)
		}
	})
}
