package blueskytest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The codecs of content ids.
const (
	codecRaw     = 0x55
	codecDagCBOR = 0x71
)

var base32Lower = base32.StdEncoding.WithPadding(base32.NoPadding)

func contentID(codec byte, data []byte) string {
	sum := sha256.Sum256(data)
	raw := append([]byte{0x01, codec, 0x12, 0x20}, sum[:]...)
	return "b" + strings.ToLower(base32Lower.EncodeToString(raw))
}

func blobCID(data []byte) string { return contentID(codecRaw, data) }

// RecordCID is the content id that a repository gives a record: the hash of its DAG-CBOR.
func RecordCID(record json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	out, err := cbor(nil, v)
	if err != nil {
		return "", err
	}
	return contentID(codecDagCBOR, out), nil
}

// The major types of CBOR (RFC 8949).
const (
	majorUint  = 0 << 5
	majorNeg   = 1 << 5
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5
	majorTag   = 6 << 5
)

// head writes a major type and its number in the fewest bytes.
func head(out []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(out, major|byte(n))
	case n < 1<<8:
		return append(out, major|24, byte(n))
	case n < 1<<16:
		return append(out, major|25, byte(n>>8), byte(n))
	case n < 1<<32:
		return append(out, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(out, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// cbor writes v of AT Protocol's data model: {"$link"} is a content id, {"$bytes"} are bytes, the rest is as it looks.
func cbor(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, 0xf6), nil
	case bool:
		if v {
			return append(out, 0xf5), nil
		}
		return append(out, 0xf4), nil
	case string:
		return append(head(out, majorText, uint64(len(v))), v...), nil
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s is no integer", v)
		}
		if n < 0 {
			return head(out, majorNeg, uint64(-1-n)), nil
		}
		return head(out, majorUint, uint64(n)), nil
	case []any:
		out = head(out, majorArray, uint64(len(v)))
		for _, e := range v {
			var err error
			if out, err = cbor(out, e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return cborMap(out, v)
	}
	return nil, fmt.Errorf("%T has no place in the data model", v)
}

func cborMap(out []byte, m map[string]any) ([]byte, error) {
	if link, ok := m["$link"].(string); ok && len(m) == 1 {
		raw, err := base32Lower.DecodeString(strings.ToUpper(strings.TrimPrefix(link, "b")))
		if err != nil {
			return nil, fmt.Errorf("%q is no content id", link)
		}
		out = head(out, majorTag, 42)
		out = head(out, majorBytes, uint64(len(raw)+1))
		return append(append(out, 0), raw...), nil
	}
	if b64, ok := m["$bytes"].(string); ok && len(m) == 1 {
		raw, err := base64.RawStdEncoding.DecodeString(b64)
		if err != nil {
			return nil, fmt.Errorf("%q is no base64", b64)
		}
		return append(head(out, majorBytes, uint64(len(raw))), raw...), nil
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	out = head(out, majorMap, uint64(len(keys)))
	for _, k := range keys {
		var err error
		out = append(head(out, majorText, uint64(len(k))), k...)
		if out, err = cbor(out, m[k]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
