package message

// Fields splits raw as Parse does. It returns the header fields as they came, in their
// bytes and folding, each with the CRLF at its end, and the body as far as it was fetched.
// A header over MaxHeader is cut there.
func Fields(raw Raw) (fields []string, body []byte) {
	head, _, rest := splitHeader(raw.Header)
	var p parser
	for block := string(p.headerBlock(head)); len(block) > 0; {
		end := fieldEnd(block)
		fields = append(fields, block[:end])
		block = block[end:]
	}
	return fields, join(rest, raw.Body)
}
