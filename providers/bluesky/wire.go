package bluesky

import "encoding/json"

// collection is where posts live in a repository.
const collection = "app.bsky.feed.post"

// The types below are those of the lexicons app.bsky.feed.post, app.bsky.embed.images, app.bsky.embed.external,
// app.bsky.richtext.facet and com.atproto.repo.strongRef (bluesky-social/atproto at d6296a1c, 2026-08-20).

type record struct {
	Type      string      `json:"$type"`
	CreatedAt string      `json:"createdAt"`
	Embed     any         `json:"embed,omitempty"` // imagesEmbed or externalEmbed
	Facets    []facet     `json:"facets,omitempty"`
	Labels    *selfLabels `json:"labels,omitempty"`
	Langs     []string    `json:"langs,omitempty"`
	Tags      []string    `json:"tags,omitempty"`
	Text      string      `json:"text"`
}

type imagesEmbed struct {
	Type   string       `json:"$type"`
	Images []shownImage `json:"images"`
}

type shownImage struct {
	Alt         string       `json:"alt"`
	AspectRatio *aspectRatio `json:"aspectRatio,omitempty"`
	Image       blob         `json:"image"`
}

type aspectRatio struct {
	Height int `json:"height"`
	Width  int `json:"width"`
}

type externalEmbed struct {
	Type     string   `json:"$type"`
	External external `json:"external"`
}

type external struct {
	Description string `json:"description"`
	Thumb       *blob  `json:"thumb,omitempty"`
	Title       string `json:"title"`
	URI         string `json:"uri"`
}

type blob struct {
	Type     string  `json:"$type"`
	MIMEType string  `json:"mimeType"`
	Ref      blobRef `json:"ref"`
	Size     int64   `json:"size"`
}

type blobRef struct {
	Link string `json:"$link"`
}

type facet struct {
	Features []feature `json:"features"`
	Index    byteSlice `json:"index"`
}

type feature struct {
	Type string `json:"$type"`
	DID  string `json:"did,omitempty"`
	Tag  string `json:"tag,omitempty"`
	URI  string `json:"uri,omitempty"`
}

type byteSlice struct {
	ByteEnd   int `json:"byteEnd"`
	ByteStart int `json:"byteStart"`
}

type selfLabels struct {
	Type   string      `json:"$type"`
	Values []selfLabel `json:"values"`
}

type selfLabel struct {
	Val string `json:"val"`
}

type replyRef struct {
	Parent strongRef `json:"parent"`
	Root   strongRef `json:"root"`
}

type strongRef struct {
	CID string `json:"cid"`
	URI string `json:"uri"`
}

// putInput is com.atproto.repo.putRecord. SwapRecord is always null on the wire: create, never replace.
type putInput struct {
	Collection string          `json:"collection"`
	Record     json.RawMessage `json:"record"`
	Repo       string          `json:"repo"`
	RKey       string          `json:"rkey"`
	SwapRecord *string         `json:"swapRecord"`
}

type deleteInput struct {
	Collection string `json:"collection"`
	Repo       string `json:"repo"`
	RKey       string `json:"rkey"`
}

type loginInput struct {
	Identifier string `json:"identifier"`
	Password   string `json:"password"`
}

// writtenAnswer answers putRecord.
type writtenAnswer struct {
	URI string `json:"uri"`
	CID string `json:"cid"`
}

// recordAnswer answers getRecord.
type recordAnswer struct {
	URI   string          `json:"uri"`
	CID   string          `json:"cid"`
	Value json.RawMessage `json:"value"`
}

// sessionAnswer answers createSession, refreshSession and, without the tokens, getSession.
type sessionAnswer struct {
	AccessJWT  string `json:"accessJwt"`
	RefreshJWT string `json:"refreshJwt"`
	Handle     string `json:"handle"`
	DID        string `json:"did"`
	Active     *bool  `json:"active"`
	Status     string `json:"status"`
}

type blobAnswer struct {
	Blob blob `json:"blob"`
}

type didAnswer struct {
	DID string `json:"did"`
}

// errorAnswer is the body of every answer that is not a success.
type errorAnswer struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}
