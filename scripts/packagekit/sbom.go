package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pulse/lib/shared/cmdline"
)

// The parts of CycloneDX 1.6 that are used (https://cyclonedx.org/docs/1.6/json/).
type (
	bom struct {
		Schema       string       `json:"$schema"`
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Hashes   []hash    `json:"hashes,omitempty"`
		Licences []licence `json:"licenses"`
		Purl     string    `json:"purl,omitempty"`
	}
	hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	licence struct {
		Licence    *spdx  `json:"license,omitempty"`
		Expression string `json:"expression,omitempty"`
	}
	spdx struct {
		ID string `json:"id"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn"`
	}
)

// sbom writes the commands, the modules, and which command is linked from which.
func sbom(w io.Writer, commands []string, made time.Time) error {
	product := component{Type: "application", Ref: "pulse", Name: "pulse", Version: cmdline.Version, Licences: licences("MIT")}
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{made.Format(time.RFC3339), product}}
	parts := dependency{Ref: product.Ref}
	for _, command := range commands {
		c, uses, err := describe(command)
		if err != nil {
			return err
		}
		b.Components = append(b.Components, c)
		b.Dependencies = append(b.Dependencies, uses)
		parts.Uses = append(parts.Uses, c.Ref)
	}
	modules, err := all(commands)
	if err != nil {
		return err
	}
	for _, m := range modules {
		b.Components = append(b.Components, component{Type: "library", Ref: m.purl(), Name: m.path, Version: m.version,
			Licences: licences(m.licence), Purl: m.purl()})
	}
	b.Dependencies = append(b.Dependencies, parts)
	return b.write(w)
}

// describe returns a command and what it is linked from.
func describe(command string) (component, dependency, error) {
	name := filepath.Base(command)
	file, err := os.ReadFile(command)
	if err != nil {
		return component{}, dependency{}, err
	}
	modules, err := linked(command)
	uses := dependency{Ref: name}
	for _, m := range modules {
		uses.Uses = append(uses.Uses, m.purl())
	}
	return component{Type: "application", Ref: name, Name: name, Version: cmdline.Version,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(file))}}, Licences: licences("MIT")}, uses, err
}

func licences(expression string) []licence {
	if strings.Contains(expression, " ") {
		return []licence{{Expression: expression}}
	}
	return []licence{{Licence: &spdx{expression}}}
}

// write numbers the list by its content, and writes it.
func (b *bom) write(w io.Writer) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, RFC 9562
	b.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(b)
}
