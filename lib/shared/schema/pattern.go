package schema

// readPattern checks a pattern.
func readPattern(s string) error {
	if len(s) < 2 || s[0] != '^' || s[len(s)-1] != '$' {
		return errPattern
	}
	return nil
}
