package richtext

import (
	"fmt"
	"unicode"
)

// bidi are the directional formatting characters (UAX #9, section 2).
var bidi = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x061C, Hi: 0x061C, Stride: 1},
		{Lo: 0x200E, Hi: 0x200F, Stride: 1},
		{Lo: 0x202A, Hi: 0x202E, Stride: 1},
		{Lo: 0x2066, Hi: 0x2069, Stride: 1},
	},
}

// invisible are characters that take no room: Unicode's Default_Ignorable_Code_Point less the bidi controls, with the
// interlinear and shorthand format controls, the blank Braille pattern, and noncharacters.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1},
		{Lo: 0x034F, Hi: 0x034F, Stride: 1},
		{Lo: 0x115F, Hi: 0x1160, Stride: 1},
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
		{Lo: 0x180B, Hi: 0x180F, Stride: 1},
		{Lo: 0x200B, Hi: 0x200D, Stride: 1},
		{Lo: 0x2060, Hi: 0x2065, Stride: 1},
		{Lo: 0x206A, Hi: 0x206F, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xFDD0, Hi: 0xFDEF, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1},
		{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
		{Lo: 0xFFF0, Hi: 0xFFFB, Stride: 1},
		{Lo: 0xFFFE, Hi: 0xFFFF, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1BCA0, Hi: 0x1BCA3, Stride: 1},
		{Lo: 0x1D173, Hi: 0x1D17A, Stride: 1},
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1},
	},
}

// emoji are the characters that may carry an emoji presentation selector or be part of a joined emoji: the blocks in which
// Unicode's Extended_Pictographic characters outside ASCII lie (emoji-data.txt 16.0).
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00A9, Hi: 0x00A9, Stride: 1},
		{Lo: 0x00AE, Hi: 0x00AE, Stride: 1},
		{Lo: 0x203C, Hi: 0x203C, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2190, Hi: 0x21FF, Stride: 1},
		{Lo: 0x2300, Hi: 0x23FF, Stride: 1},
		{Lo: 0x24C2, Hi: 0x24C2, Stride: 1},
		{Lo: 0x25A0, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2B05, Hi: 0x2B55, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303D, Hi: 0x303D, Stride: 1},
		{Lo: 0x3297, Hi: 0x3297, Stride: 1},
		{Lo: 0x3299, Hi: 0x3299, Stride: 1},
	},
	R32:         []unicode.Range32{{Lo: 0x1F000, Hi: 0x1F3FA, Stride: 1}, {Lo: 0x1F400, Hi: 0x1FAFF, Stride: 1}},
	LatinOffset: 2,
}

// viramas kill a consonant's vowel (canonical combining class 9 in the scripts of indic).
var viramas = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x094D, Hi: 0x094D, Stride: 1},
		{Lo: 0x09CD, Hi: 0x09CD, Stride: 1},
		{Lo: 0x0A4D, Hi: 0x0A4D, Stride: 1},
		{Lo: 0x0ACD, Hi: 0x0ACD, Stride: 1},
		{Lo: 0x0B4D, Hi: 0x0B4D, Stride: 1},
		{Lo: 0x0BCD, Hi: 0x0BCD, Stride: 1},
		{Lo: 0x0C4D, Hi: 0x0C4D, Stride: 1},
		{Lo: 0x0CCD, Hi: 0x0CCD, Stride: 1},
		{Lo: 0x0D3B, Hi: 0x0D3C, Stride: 1},
		{Lo: 0x0D4D, Hi: 0x0D4D, Stride: 1},
		{Lo: 0x0DCA, Hi: 0x0DCA, Stride: 1},
		{Lo: 0x1039, Hi: 0x103A, Stride: 1},
		{Lo: 0x17D2, Hi: 0x17D2, Stride: 1},
		{Lo: 0x1B44, Hi: 0x1B44, Stride: 1},
		{Lo: 0xA9C0, Hi: 0xA9C0, Stride: 1},
	},
}

// indic are the scripts in which joiners choose between conjunct forms.
var indic = []*unicode.RangeTable{
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Balinese, unicode.Javanese,
}

// joining are the scripts whose letters join, so that a non-joiner changes how a word looks.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Phags_Pa, unicode.Adlam,
	unicode.Hanifi_Rohingya,
}

// names are the Unicode names of those that people meet.
var names = map[rune]string{
	0x00AD: "SOFT HYPHEN", 0x034F: "COMBINING GRAPHEME JOINER", 0x061C: "ARABIC LETTER MARK", 0x115F: "HANGUL CHOSEONG FILLER",
	0x1160: "HANGUL JUNGSEONG FILLER", 0x180E: "MONGOLIAN VOWEL SEPARATOR", 0x200B: "ZERO WIDTH SPACE",
	0x200C: "ZERO WIDTH NON-JOINER", 0x200D: "ZERO WIDTH JOINER", 0x200E: "LEFT-TO-RIGHT MARK", 0x200F: "RIGHT-TO-LEFT MARK",
	0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR", 0x202A: "LEFT-TO-RIGHT EMBEDDING",
	0x202B: "RIGHT-TO-LEFT EMBEDDING", 0x202C: "POP DIRECTIONAL FORMATTING", 0x202D: "LEFT-TO-RIGHT OVERRIDE",
	0x202E: "RIGHT-TO-LEFT OVERRIDE", 0x2060: "WORD JOINER", 0x2061: "FUNCTION APPLICATION", 0x2062: "INVISIBLE TIMES",
	0x2063: "INVISIBLE SEPARATOR", 0x2064: "INVISIBLE PLUS", 0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE",
	0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE", 0x2800: "BRAILLE PATTERN BLANK", 0x3164: "HANGUL FILLER",
	0xFEFF: "ZERO WIDTH NO-BREAK SPACE", 0xFFA0: "HALFWIDTH HANGUL FILLER", 0x0000: "NULL", 0x0007: "BELL", 0x0008: "BACKSPACE",
	0x000D: "CARRIAGE RETURN", 0x001B: "ESCAPE", 0x007F: "DELETE", 0x009B: "CONTROL SEQUENCE INTRODUCER",
}

func name(r rune, bad bool) string {
	if bad {
		return "a byte that is not UTF-8"
	}
	if n, ok := names[r]; ok {
		return n
	}
	switch {
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return "control code"
	case r >= 0xFE00 && r <= 0xFE0F:
		return fmt.Sprintf("VARIATION SELECTOR-%d", r-0xFE00+1)
	case r >= 0xE0100 && r <= 0xE01EF:
		return fmt.Sprintf("VARIATION SELECTOR-%d", r-0xE0100+17)
	case r >= 0xE0000 && r <= 0xE007F:
		return "TAG CHARACTER"
	}
	return "invisible character"
}
