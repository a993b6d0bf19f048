package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is something that commands are linked from. Go's own library is one, named std.
type module struct {
	path, version string
	licence       string // an SPDX expression
	text          string // of the licence, and of a notice that has to go with it
}

func (m module) purl() string { return "pkg:golang/" + m.path + "@" + m.version }

// linked returns the modules of a command, and of Go, as "go version -m" prints them.
func linked(command string) (list []module, err error) {
	info, err := buildinfo.ReadFile(command)
	if err != nil {
		return nil, err
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s: %s is replaced, and its licence is not known here", command, dep.Path)
		}
		list = append(list, module{path: dep.Path, version: dep.Version})
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	return append(list, module{path: "std", version: version}), nil
}

// all returns the modules of all commands, each once, with their licences.
func all(commands []string) ([]module, error) {
	var list []module
	for _, command := range commands {
		more, err := linked(command)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.purl(), b.purl()) })
	list = slices.Compact(list)
	for i := range list {
		if err := list[i].read(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// read fills in the licence.
func (m *module) read() error {
	args := []string{"list", "-m", "-f", "{{.Dir}}", m.path + "@" + m.version}
	if m.path == "std" {
		args = []string{"env", "GOROOT"}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	dir := string(bytes.TrimSpace(out))
	if m.text, err = firstOf(dir, "LICENSE", "LICENSE.txt", "COPYING", "License"); err != nil {
		return err
	}
	if m.licence = identify(m.text); m.licence == "" {
		return fmt.Errorf("%s: no licence that is known here; identify has to learn it", dir)
	}
	notice, err := firstOf(dir, "NOTICE", "NOTICE.txt")
	if err == nil {
		m.text += "\n" + notice
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// firstOf returns the text of the first of some files that is there.
func firstOf(dir string, names ...string) (string, error) {
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return strings.TrimSpace(string(b)) + "\n", err
		}
	}
	return "", fmt.Errorf("%s: none of %s: %w", dir, strings.Join(names, ", "), fs.ErrNotExist)
}

var declared = regexp.MustCompile(`SPDX-License-Identifier: (.*?) *\*/`)

// identify returns the SPDX expression for a text, or "".
func identify(text string) string {
	said := declared.FindStringSubmatch(text)
	switch {
	case said != nil:
		return said[1]
	case strings.Contains(text, "Apache License"):
		return "Apache-2.0"
	case strings.Contains(strings.ToLower(text), "permission is hereby granted, free of charge"):
		return "MIT"
	case strings.Contains(text, "Redistribution and use in source and binary forms") && strings.Contains(text, "Neither the name of"):
		return "BSD-3-Clause"
	}
	return ""
}
