package message

import (
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/address"
)

// colour is a colour, as precise as it must be to tell whether text in it can be read on a
// background.
type colour struct {
	known   bool
	clear   bool // transparent
	r, g, b int
}

var (
	black = colour{known: true}
	white = colour{known: true, r: 255, g: 255, b: 255}
)

// looksLike reports whether text of colour c can't be read on back.
func (c colour) looksLike(back colour) bool {
	if !c.known || !back.known {
		return false
	}
	near := func(a, b int) bool { return a-b < 24 && b-a < 24 }
	return c.clear || near(c.r, back.r) && near(c.g, back.g) && near(c.b, back.b)
}

// colourNames has the colours that are used to hide text, and some that show it.
var colourNames = map[string]colour{
	"aliceblue": white, "honeydew": white, "oldlace": white, "linen": white, "lavenderblush": white,
	"lightyellow": white, "lightcyan": white, "cornsilk": white, "beige": white,
	"black": black, "white": white, "transparent": {known: true, clear: true},
	"snow": white, "ivory": white, "ghostwhite": white, "floralwhite": white,
	"whitesmoke": white, "mintcream": white, "azure": white, "seashell": white,
	"red": {known: true, r: 255}, "lime": {known: true, g: 255}, "blue": {known: true, b: 255},
	"green": {known: true, g: 128}, "navy": {known: true, b: 128}, "yellow": {known: true, r: 255, g: 255},
	"gray": {known: true, r: 128, g: 128, b: 128}, "grey": {known: true, r: 128, g: 128, b: 128},
	"silver": {known: true, r: 192, g: 192, b: 192},
}

// set sets a colour of text. A value that is not a colour changes nothing; one that is, and that
// need not be known, makes it unknown.
func (c *colour) set(value string) {
	if now, valid := cssColour(value); valid {
		*c = now
	}
}

// setBack sets a background, which may be an image, a position and a colour.
func (c *colour) setBack(value string) {
	now, valid := anyColour(value)
	if valid || value == "none" || strings.HasPrefix(value, "url(") {
		*c = now
	}
}

// cssColour reads a colour in a style sheet. Without a # there, three letters are no colour.
func cssColour(value string) (c colour, valid bool) {
	if slices.Contains(anew, value) || strings.Contains(otherColours, " "+value+" ") {
		return colour{}, true
	}
	if c = parseColour(value); strings.HasPrefix(value, "hsl") {
		return c, len(arguments(value[3:])) >= 3
	}
	named := colourNames[value].known || strings.HasPrefix(value, "#") || strings.HasPrefix(value, "rgb")
	return c, c.known && named
}

// otherColours has the names of the colours that colourNames has not.
const otherColours = " currentcolor antiquewhite aqua aquamarine bisque blanchedalmond blueviolet brown burlywood " +
	"cadetblue chartreuse chocolate coral cornflowerblue crimson cyan darkblue darkcyan darkgoldenrod darkgray " +
	"darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen " +
	"darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey " +
	"dodgerblue firebrick forestgreen fuchsia gainsboro gold goldenrod greenyellow hotpink indianred indigo khaki " +
	"lavender lawngreen lemonchiffon lightblue lightcoral lightgoldenrodyellow lightgray lightgreen lightgrey " +
	"lightpink lightsalmon lightseagreen lightskyblue lightslategray lightslategrey lightsteelblue limegreen magenta " +
	"maroon mediumaquamarine mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen " +
	"mediumturquoise mediumvioletred midnightblue mistyrose moccasin navajowhite olive olivedrab orange orangered " +
	"orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple " +
	"rebeccapurple rosybrown royalblue saddlebrown salmon sandybrown seagreen sienna skyblue slateblue slategray " +
	"slategrey springgreen steelblue tan teal thistle tomato turquoise violet wheat yellowgreen "

// anyColour returns the first colour among the words of a background.
func anyColour(value string) (c colour, valid bool) {
	if c, valid = cssColour(value); valid {
		return c, true
	}
	for _, word := range strings.Fields(value) {
		if c, valid = cssColour(word); valid {
			return c, true
		}
	}
	return colour{}, false
}

// parseColour reads a name, #rgb, #rrggbb (with alpha or without the #), rgb(), rgba(),
// hsl() or hsla(). Any other colour is unknown, and text in it is shown.
func parseColour(value string) colour {
	value = address.Fold(strings.TrimSpace(value))
	if c, ok := colourNames[value]; ok {
		return c
	}
	if args, ok := strings.CutPrefix(value, "rgb"); ok {
		return functionColour(args)
	}
	if args, ok := strings.CutPrefix(value, "hsl"); ok {
		return lightness(args)
	}
	hex := strings.TrimPrefix(value, "#")
	if hex == "" || len(hex) > 8 {
		return colour{} // strconv's error would cost memory for every element
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return colour{}
	}
	c := colour{known: true}
	switch len(hex) {
	case 4:
		c.clear = n&15 == 0
		n >>= 4
		fallthrough
	case 3:
		c.r, c.g, c.b = int(n>>8&15)*17, int(n>>4&15)*17, int(n&15)*17
	case 8:
		c.clear = n&255 < 26
		n >>= 8
		fallthrough
	case 6:
		c.r, c.g, c.b = int(n>>16&255), int(n>>8&255), int(n&255)
	default:
		return colour{}
	}
	return c
}

// arguments splits what follows the name of a colour function: (a, b, c) or
// a(a, b, c, alpha), with commas, blanks and slashes.
func arguments(args string) []string {
	args = strings.TrimPrefix(args, "a")
	if !strings.HasPrefix(args, "(") || !strings.HasSuffix(args, ")") {
		return nil
	}
	separator := func(r rune) bool { return r == ',' || r == '/' || asciiSpace(r) }
	return strings.FieldsFunc(args[1:len(args)-1], separator)
}

// lightness reads what follows "hsl". It knows only white, black and transparent, which
// are enough to hide text.
func lightness(args string) colour {
	fields := arguments(args)
	if len(fields) < 3 {
		return colour{}
	}
	if len(fields) == 4 {
		if n, unit, ok := number(fields[3]); ok && (n < 0.1 || unit == "%" && n < 10) {
			return colour{known: true, clear: true}
		}
	}
	switch n, _, ok := number(fields[2]); {
	case ok && n >= 95:
		return white
	case ok && n <= 5:
		return black
	}
	return colour{}
}

// functionColour reads what follows "rgb".
func functionColour(args string) colour {
	fields := arguments(args)
	var v [4]float64
	v[3] = 1
	for i, f := range fields {
		n, unit, ok := number(f)
		if !ok || i > 3 {
			return colour{}
		}
		if unit == "%" {
			n /= 100
			if i < 3 {
				n *= 255
			}
		}
		v[i] = n
	}
	return colour{len(fields) >= 3, v[3] < 0.1, int(v[0]), int(v[1]), int(v[2])}
}
