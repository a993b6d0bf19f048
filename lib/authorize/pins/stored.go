package pins

import (
	"errors"
	"fmt"

	"pulse/lib/shared/record"
)

var errFile = errors.New("it is not what pulse-authorize hook mcp --pin writes")

// Decode reads the tools of a server as Append writes them.
func (s *Server) Decode(b []byte) error {
	rec, err := record.Parse(b, "server", "command", "tools")
	if err != nil {
		return fmt.Errorf("%w: %w", errFile, err)
	}
	var server string
	err = rec.Value().Each(record.Only(errFile, "server", &server, "command", &s.Command, "tools", func(v record.Value) error {
		return v.Elements(func(_ int, v record.Value) error { return s.decodeTool(v) })
	}))
	if err == nil && (server != s.Name || !rec.Has("tools")) {
		err = errFile
	}
	return err
}

// decodeTool reads a tool, which has to be what its digest says.
func (s *Server) decodeTool(v record.Value) error {
	var name, sum string
	var t Tool
	err := v.Each(record.Only(errFile, "name", &name, "sha256", &sum, "definition", func(v record.Value) (err error) {
		t, err = Read(v)
		return err
	}))
	if err != nil {
		return err
	}
	if t.Name == "" || name != t.Name || sum != t.SHA256 {
		return fmt.Errorf("%w: %.100q", errFile, name)
	}
	return s.Add(t)
}

// Append appends the server as its file has it.
func (s *Server) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("server", s.Name)
	if s.Command != nil {
		o.Strs("command", s.Command)
	}
	o.Nested("tools", func(dst []byte) []byte {
		return record.List(dst, s.Tools, func(t *Tool, dst []byte) []byte {
			o := record.ObjectAfter(dst)
			o.Str("name", t.Name)
			o.Str("sha256", t.SHA256)
			o.Raw("definition", []byte(t.Definition))
			return o.Bytes()
		})
	})
	return o.Bytes()
}
