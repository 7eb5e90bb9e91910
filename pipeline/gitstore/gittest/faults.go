package gittest

// Fault is what goes wrong with an HTTP request.
type Fault string

// The faults. "Ran" means that git has done its work before the answer is spoilt.
const (
	None         Fault = ""
	DropBefore   Fault = "drop-before"   // the connection is closed before git runs
	DropAfter    Fault = "drop-after"    // git ran; the connection is closed without an answer
	Truncate     Fault = "truncate"      // git ran; half of the answer arrives
	Empty200     Fault = "empty-200"     // git ran; 200 with an empty body
	EmptyNotRun  Fault = "empty-not-run" // git did not run; 200 with an empty body all the same
	HTML200      Fault = "html-200"      // git ran; a proxy answers with a page
	NoRefStatus  Fault = "no-ref-status" // git ran; the report lacks the ref
	GarbledSide  Fault = "garbled-side"  // git ran; the side band cannot be decoded
	Status502Ran Fault = "502-after"     // git ran; then a gateway error
	Hang         Fault = "hang"          // git ran; no answer until the client gives up
	Status401    Fault = "401"
	Status403    Fault = "403"
	Status404    Fault = "404"
	Status413    Fault = "413"
	Status429    Fault = "429"
	Status500    Fault = "500"
	HTMLInstead  Fault = "html-instead" // git did not run; a login page
)

// Point is a request of the protocol at which a fault strikes.
type Point string

// The requests of smart HTTP.
const (
	RefsForFetch Point = "info/refs?upload-pack"
	RefsForPush  Point = "info/refs?receive-pack"
	FetchRequest Point = "upload-pack"
	PushRequest  Point = "receive-pack"
)
