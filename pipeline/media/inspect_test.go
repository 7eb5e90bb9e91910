package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/media"
)

const pointer = "version https://git-lfs.github.com/spec/v1\n" +
	"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

func codes(ps []*media.Problem) string {
	var out []string
	for _, p := range ps {
		if p.Message == "" {
			out = append(out, "without words")
		}
		out = append(out, string(p.Severity)+" "+p.Code)
	}
	return strings.Join(out, ", ")
}

func TestInspectTellsTypesAndSizesByContent(t *testing.T) {
	t.Parallel()
	img := quarters(40, 24)
	for name, c := range map[string]struct {
		data []byte
		mime string
		w, h int
		says string
	}{
		"a.jpg":          {asJPEG(t, img), "image/jpeg", 40, 24, ""},
		"turned.jpg":     {withSegments(asJPEG(t, img), exifSegment(6)), "image/jpeg", 24, 40, ""},
		"half.jpg":       {withSegments(asJPEG(t, img), exifSegment(3)), "image/jpeg", 40, 24, ""},
		"a.png":          {asPNG(t, img), "image/png", 40, 24, ""},
		"turned.png":     {withChunks(asPNG(t, img), chunk("eXIf", exif(binary.BigEndian, 8))), "image/png", 24, 40, ""},
		"a.gif":          {asGIF(t, 1), "image/gif", 8, 6, ""},
		"moving.gif":     {asGIF(t, 3), "image/gif", 8, 6, ""},
		"a.webp":         {smallWebP(), "image/webp", 1, 1, ""},
		"a.heic":         {append(ftyp("heic", "mif1", "heic"), still(4032, 3024)...), "image/heic", 4032, 3024, ""},
		"generic.heic":   {append(ftyp("mif1", "mif1", "heic"), still(64, 48)...), "image/heic", 64, 48, ""},
		"a.avif":         {append(ftyp("avif", "mif1", "miaf"), still(800, 600)...), "image/avif", 800, 600, ""},
		"generic.avif":   {append(ftyp("mif1", "miaf", "avif"), still(8, 6)...), "image/avif", 8, 6, ""},
		"a.mp4":          {append(ftyp("isom", "iso2", "avc1"), movie(1920, 1080, false)...), "video/mp4", 1920, 1080, ""},
		"upright.mp4":    {append(ftyp("mp42"), movie(1920, 1080, true)...), "video/mp4", 1080, 1920, ""},
		"a.mov":          {append(ftyp("qt  "), movie(640, 480, false)...), "video/quicktime", 640, 480, ""},
		"mov.mp4":        {append(ftyp("qt  "), movie(640, 480, false)...), "video/quicktime", 640, 480, ""},
		"a.webm":         {append([]byte("\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm"), make([]byte, 64)...), "video/webm", 0, 0, ""},
		"wrong.jpg":      {asPNG(t, img), "image/png", 40, 24, "warning media_type_mismatch"},
		"located.mov":    {append(append(ftyp("qt  "), movie(6, 4, false)...), box("udta", box("\xa9xyz", []byte("+52.5+13.4/")))...), "video/quicktime", 6, 4, "warning media_location"},
		"located.heic":   {append(append(ftyp("heic"), still(8, 6)...), gpsBlock(0x8825)...), "image/heic", 8, 6, "warning media_location"},
		"unlocated.heic": {append(append(ftyp("heic"), still(8, 6)...), gpsBlock(0x010F)...), "image/heic", 8, 6, ""},
		"no extension":   {asPNG(t, img), "image/png", 40, 24, ""},
		"empty.png":      {nil, "", 0, 0, "error media_empty"},
		"lfs.png":        {[]byte(pointer), "", 0, 0, "error lfs_pointer"},
		"broken-lfs.png": {[]byte(strings.Replace(pointer, "4d7a", "zzzz", 1)), "text/plain", 0, 0, "error lfs_pointer"},
		"a.svg":          {[]byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), "image/svg+xml", 0, 0, "error media_type"},
		"svg.png":        {[]byte("  <SVG onload=alert(1)>"), "image/svg+xml", 0, 0, "error media_type"},
		"page.png":       {[]byte("<!DOCTYPE html><html><body>Sign in</body></html>"), "text/html", 0, 0, "error media_type"},
		"text.png":       {[]byte("no picture"), "text/plain", 0, 0, "error media_type"},
		"a.pdf":          {[]byte("%PDF-1.7\n"), "application/pdf", 0, 0, "error media_type"},
		"program.png":    {[]byte("\x7fELF\x02\x01\x01"), "application/octet-stream", 0, 0, "error media_type"},
		"cut.jpg":        {asJPEG(t, img)[:30], "image/jpeg", 0, 0, "error media_broken"},
		"cut.png":        {asPNG(t, img)[:20], "image/png", 0, 0, "error media_broken"},
		"cut.gif":        {[]byte("GIF89a"), "image/gif", 0, 0, "error media_broken"},
		"unsized.heic":   {ftyp("heic", "mif1"), "image/heic", 0, 0, "error media_broken"},
		"bomb.png":       {bombPNG(50_000, 50_000), "image/png", 0, 0, "error media_too_large"},
		"thin.png":       {bombPNG(1, 200_000), "image/png", 0, 0, "error media_too_large"},
		"bomb.avif":      {append(ftyp("avif"), still(0xFFFFFFFF, 0xFFFFFFFF)...), "image/avif", 0, 0, "error media_too_large"},
		"bomb.gif":       {append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), 0x3b), "image/gif", 0, 0, "error media_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, ps := media.Inspect(name, "alt", c.data)
			if m.MIME != c.mime || m.Width != c.w || m.Height != c.h || codes(ps) != c.says {
				t.Errorf("got %s, %d by %d, %q; want %s, %d by %d, %q", m.MIME, m.Width, m.Height, codes(ps), c.mime, c.w, c.h, c.says)
			}
			if m.Alt != "alt" || m.Path != name || m.Bytes != int64(len(c.data)) {
				t.Errorf("%+v", m)
			}
			if c.says == "" && len(m.SHA256) != 64 {
				t.Errorf("digest %q", m.SHA256)
			}
		})
	}
}

// gpsBlock is an EXIF item whose one entry has the given tag.
func gpsBlock(tag uint16) []byte {
	b := []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01")
	b = binary.BigEndian.AppendUint16(b, tag)
	return box("mdat", append(b, make([]byte, 14)...))
}

// bombPNG is a header that promises a huge picture.
func bombPNG(w, h uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 2, 0, 0, 0)
	return append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", b)...)
}

func TestLFSPointerReadsOnlyPointers(t *testing.T) {
	t.Parallel()
	oid, size, ok := media.LFSPointer([]byte(pointer))
	if !ok || size != 12345 || !strings.HasPrefix(oid, "4d7a2146") {
		t.Errorf("%s, %d, %v", oid, size, ok)
	}
	for _, bad := range []string{
		"", "version https://git-lfs.github.com/spec/v1\n", strings.Replace(pointer, "12345", "-1", 1),
		strings.Replace(pointer, "12345", "x", 1), pointer + strings.Repeat("x", 1024), " " + pointer,
	} {
		if _, _, ok := media.LFSPointer([]byte(bad)); ok {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestCheckAltFollowsTheRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		use  pipeline.MediaUse
		want pipeline.Severity
	}{
		{"required", pipeline.MediaUse{}, pipeline.Error},
		{"", pipeline.MediaUse{}, pipeline.Error},
		{"warn", pipeline.MediaUse{}, pipeline.Warning},
		{"off", pipeline.MediaUse{}, ""},
		{"required", pipeline.MediaUse{Alt: "A cat", HasAlt: true}, ""},
		{"required", pipeline.MediaUse{HasAlt: true}, ""},
	} {
		p := media.CheckAlt(c.rule, c.use)
		if (p == nil) != (c.want == "") || p != nil && (p.Severity != c.want || p.Code != "alt_missing") {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

func TestWorkTreeNeverLeavesTheRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.png")
	write(t, outside, asPNG(t, quarters(4, 4)))
	write(t, filepath.Join(dir, "media", "a.png"), []byte("a"))
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "out.png")
	link(filepath.Dir(outside), "outdir")
	link("media/a.png", "in.png")
	link("media", "indir")
	link("nothing.png", "dangling.png")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	src := media.WorkTree{Root: root, Tracked: func(p string) bool { return p == "media/sparse.png" }}
	for path, want := range map[string]error{
		"media/a.png": nil, "in.png": media.ErrSymlink, "indir/a.png": media.ErrSymlink, "dangling.png": media.ErrSymlink, "out.png": media.ErrOutside, "outdir/secret.png": media.ErrOutside,
		"../x": media.ErrOutside, "/etc/passwd": media.ErrOutside, "media/../../x": media.ErrOutside, ".": media.ErrOutside,
		"none.png": fs.ErrNotExist, "media/sparse.png": media.ErrNotCheckedOut, "media": fs.ErrInvalid,
	} {
		data, err := src.Read(path)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
		if err == nil && string(data) != "a" {
			t.Errorf("%s: read %q", path, data)
		}
	}
	big := filepath.Join(dir, "big.png")
	write(t, big, nil)
	if err := os.Truncate(big, media.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Read("big.png"); !errors.Is(err, media.ErrTooLarge) {
		t.Errorf("a huge file: %v", err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// files is a Source that counts what is read of it.
type files struct {
	data  map[string][]byte
	err   map[string]error
	reads map[string]int
}

func (f *files) Read(path string) ([]byte, error) {
	f.reads[path]++
	if err := f.err[path]; err != nil {
		return nil, err
	}
	data, ok := f.data[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func TestLoaderPlacesProblemsInThePost(t *testing.T) {
	t.Parallel()
	src := &files{
		data:  map[string][]byte{"m/a.png": asPNG(t, quarters(8, 8)), "m/lfs.png": []byte(pointer), "m/b.jpg": asPNG(t, quarters(8, 8))},
		err:   map[string]error{"m/sparse.png": media.ErrNotCheckedOut, "m/out.png": media.ErrOutside, "m/odd.png": errors.New("odd"), "m/big.png": media.ErrTooLarge, "m/link.png": media.ErrSymlink},
		reads: map[string]int{},
	}
	l := media.NewLoader(src, pipeline.MediaConfig{Alt: "required"})
	post := &pipeline.Post{ID: "p", Path: "posts/p.md"}
	for path, c := range map[string]struct {
		want string
		ok   bool
	}{
		"m/a.png": {"", true}, "m/b.jpg": {"media_type_mismatch", true}, "m/lfs.png": {"lfs_pointer", false},
		"m/none.png": {"media_missing", false}, "m/sparse.png": {"media_not_checked_out", false}, "m/out.png": {"media_outside", false},
		"m/odd.png": {"media_unreadable", false}, "m/big.png": {"media_too_large", false}, "m/link.png": {"media_symlink", false}, "": {"", false},
	} {
		use := pipeline.MediaUse{Src: "/" + path, Path: path, Alt: "x", HasAlt: true, Pos: pipeline.Pos{Line: 7, Column: 3}, Focus: &[2]float64{0, 1}}
		m, ds, ok := l.Load(post, use)
		var got string
		for _, d := range ds {
			got += d.Code
			if d.File != "posts/p.md" || d.Line != 7 || d.Column != 3 || d.Post != "p" || d.Message == "" {
				t.Errorf("%s: %+v", path, d)
			}
		}
		if got != c.want || ok != c.ok {
			t.Errorf("%q: got %q, %v", path, got, ok)
		}
		if ok && (m.Alt != "x" || m.Focus == nil || m.Open == nil) {
			t.Errorf("%q: %+v", path, m)
		}
	}
	if _, ds, ok := l.Load(post, pipeline.MediaUse{Path: "m/a.png"}); ok || len(ds) != 1 || ds[0].Code != "alt_missing" {
		t.Errorf("no alt: %v", ds)
	}
	if n := src.reads["m/a.png"]; n != 1 {
		t.Errorf("read %d times", n)
	}
}

func FuzzInspect(f *testing.F) {
	img := quarters(12, 8)
	for _, s := range [][]byte{
		asJPEG(f, img), withSegments(asJPEG(f, img), exifSegment(6)), asPNG(f, img), asGIF(f, 2), smallWebP(),
		withChunks(asPNG(f, img), chunk("eXIf", exif(binary.BigEndian, 5)), chunk("tEXt", []byte("k\x00v"))),
		append(ftyp("heic", "mif1"), still(8, 6)...), append(ftyp("isom"), movie(8, 6, true)...), []byte(pointer), []byte("<svg/>"),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ps := media.Inspect("x.bin", "", data)
		failed := false
		for _, p := range ps {
			failed = failed || p.Severity == pipeline.Error
		}
		if failed {
			return
		}
		if m.SHA256 == "" || m.MIME == "" || int64(m.Width)*int64(m.Height) > media.MaxPixels {
			t.Fatalf("accepted: %+v", m)
		}
		if int64(m.Width)*int64(m.Height) > 1<<20 {
			return // keep the fuzzer quick
		}
		m.Open = func() ([]byte, error) { return data, nil }
		out, _, err := media.Fit(m, smallLimits, "auto")
		if err != nil {
			if _, ok := errors.AsType[*media.Problem](err); !ok {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		again, err := out.Open()
		if err != nil {
			t.Fatal(err)
		}
		back, _ := media.Inspect("x.bin", "", again)
		if d := cmp.Diff([]any{out.SHA256, out.MIME, out.Width, out.Height}, []any{back.SHA256, back.MIME, back.Width, back.Height}); d != "" {
			t.Fatalf("what was made is not what was described: %s", d)
		}
		if bytes.Contains(again, []byte("GPS 52.5200N")) && (m.MIME == "image/jpeg" || m.MIME == "image/png") {
			t.Fatal("the position is still there")
		}
	})
}
