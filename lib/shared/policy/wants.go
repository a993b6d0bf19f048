package policy

// Wants says in words whose yes a row wants, of which so many were given.
func (r *ApprovalRow) Wants(given int) string {
	text := "a person's yes"
	switch {
	case given > 0:
		text = "a second person's yes"
	case r.Count > 1:
		text = "the yeses of two people"
	}
	if len(r.Approvers) > 0 {
		text += ", of " + either(r.Approvers)
	}
	if r.NotAuthor {
		text += ", who must not be its author"
	}
	return text
}

// either joins names by commas, and the last by or.
func either(names []string) string {
	text := names[0]
	for i, name := range names[1:] {
		if i+2 < len(names) {
			text += ", " + name
		} else {
			text += " or " + name
		}
	}
	return text
}
