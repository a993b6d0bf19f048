package envelope

// Defect is a word for what is wrong with a message as it arrived. pulse-record(5) has
// the closed list.
type Defect string

// The defects. Those that harmless lists leave no doubt about what the header says. A
// message with any other defect is never verifiable.
const (
	InvalidUTF8     Defect = "invalid_utf8"     // bytes that are not UTF-8 became U+FFFD
	UnknownCharset  Defect = "unknown_charset"  // text in a charset that can't be decoded
	BrokenEncoding  Defect = "broken_encoding"  // base64, quoted-printable or a charset that does not decode
	MalformedMIME   Defect = "malformed_mime"   // Content-Type or a boundary can't be read
	ControlInText   Defect = "control_in_text"  // controls, left out of the text that is shown
	MalformedHeader Defect = "malformed_header" // a line that is neither a field nor folding
	ControlInHeader Defect = "control_in_header"
	NoHeader        Defect = "no_header"         // not one header field
	HeaderTooLarge  Defect = "header_too_large"  // over 256 KiB; cut
	TooManyFields   Defect = "too_many_fields"   // over 1,000; cut
	MessageTooLarge Defect = "message_too_large" // over 25 MiB; no text
	TooDeep         Defect = "mime_too_deep"     // parts nested deeper than 20
	TooManyParts    Defect = "mime_too_many_parts"
	SizeMismatch    Defect = "size_mismatch" // the source announced another size than it sent
	LineEnds        Defect = "line_ends"     // CRLF and LF in one header block; over IMAP, a bare LF or CR
	FromMbox        Defect = "mbox"          // an mbox proves no sender
	Unavailable     Defect = "unavailable"   // the server lists the message and can't serve it
	Unstated        Defect = "unstated"      // the record does not say which defects the message has
)

var harmless = map[Defect]bool{
	InvalidUTF8:    true,
	UnknownCharset: true,
	BrokenEncoding: true,
	MalformedMIME:  true,
	ControlInText:  true,
}
