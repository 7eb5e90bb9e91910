package schedule

import (
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// DefaultPublishWithin is how long after publish_at a post may still go out, where nothing else is said.
const DefaultPublishWithin = 24 * time.Hour

// Window tells when the post may go out at d. What d says wins over the post; without a publish_by the window is
// cfg.PublishWithin long. firstSeen stands for "now". The error is an *Error: CodeNoTime for a draft,
// CodeDeadlineTooEarly where the window would be empty.
func Window(p *pipeline.Post, d pipeline.PostDestination, cfg *pipeline.Config, firstSeen time.Time) (pipeline.Window, error) {
	at := p.PublishAt
	if !d.PublishAt.IsZero() {
		at = d.PublishAt
	}
	if at.IsZero() {
		return pipeline.Window{}, &Error{
			Code: CodeNoTime, Message: "the post has no publish_at: it is a draft and will not go out",
			Hint: "add publish_at",
		}
	}
	due := at.At
	if at.Now {
		due = firstSeen
	}
	by := p.PublishBy
	if !d.PublishBy.IsZero() {
		by = d.PublishBy
	}
	if by.IsZero() {
		within := cfg.PublishWithin
		if within <= 0 {
			within = DefaultPublishWithin
		}
		return pipeline.Window{Due: due, By: due.Add(within)}, nil
	}
	if !by.At.After(due) {
		return pipeline.Window{}, &Error{
			Code: CodeDeadlineTooEarly,
			Message: fmt.Sprintf("publish_by (%s) is not after publish_at (%s)",
				by.At.Format(time.RFC3339), due.Format(time.RFC3339)),
			Hint: "give a publish_by after publish_at, or none",
		}
	}
	return pipeline.Window{Due: due, By: by.At}, nil
}
