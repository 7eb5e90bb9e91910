package schedule

// The codes of this package's errors. docs/diagnostics.md explains each.
const (
	CodeBadTime          = "bad_time"
	CodeDateWithoutTime  = "date_without_time"
	CodeUnknownZone      = "unknown_zone"
	CodeTimeInGap        = "time_in_gap"
	CodeAmbiguousTime    = "ambiguous_time"
	CodeYearOutOfRange   = "year_out_of_range"
	CodeNextSlot         = "unsupported"
	CodeBadDuration      = "bad_duration"
	CodeDeadlineTooEarly = "publish_by_too_early"
	CodeNoTime           = "no_time"
)

// Error says why a time, zone or duration cannot be taken. It becomes a diagnostic where the author wrote it.
type Error struct {
	Code    string
	Message string
	Hint    string // what to write instead; may be empty
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}
