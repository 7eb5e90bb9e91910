package ledger

var headerTable = newTable(
	column[header]{"files", func(h *header) any { return &h.Files }},
	column[header]{"number", func(h *header) any { return &h.Number }},
	column[header]{"v", func(h *header) any { return &h.V }},
)

var digestTable = newTable(
	column[fileDigest]{"digest", func(f *fileDigest) any { return &f.Digest }},
	column[fileDigest]{"number", func(f *fileDigest) any { return &f.Number }},
	column[fileDigest]{"path", func(f *fileDigest) any { return &f.Path }},
)

var deliveryTable = newTable(
	column[archivedDelivery]{"absent", func(d *archivedDelivery) any { return &d.Absent }},
	column[archivedDelivery]{"attempts", func(d *archivedDelivery) any { return &d.Attempts }},
	column[archivedDelivery]{"blob", func(d *archivedDelivery) any { return &d.Blob }},
	column[archivedDelivery]{"by", func(d *archivedDelivery) any { return &d.By }},
	column[archivedDelivery]{"changed", func(d *archivedDelivery) any { return &d.Changed }},
	column[archivedDelivery]{"config", func(d *archivedDelivery) any { return &d.Config }},
	column[archivedDelivery]{"dest", func(d *archivedDelivery) any { return &d.Dest }},
	column[archivedDelivery]{"detail", func(d *archivedDelivery) any { return &d.Detail }},
	column[archivedDelivery]{"doubt", func(d *archivedDelivery) any { return &d.Doubt }},
	column[archivedDelivery]{"due", func(d *archivedDelivery) any { return &d.Due }},
	column[archivedDelivery]{"first_seen", func(d *archivedDelivery) any { return &d.FirstSeen }},
	column[archivedDelivery]{"gen", func(d *archivedDelivery) any { return &d.Gen }},
	column[archivedDelivery]{"login", func(d *archivedDelivery) any { return &d.Login }},
	column[archivedDelivery]{"not_before", func(d *archivedDelivery) any { return &d.NotBefore }},
	column[archivedDelivery]{"number", func(d *archivedDelivery) any { return &d.Number }},
	column[archivedDelivery]{"path", func(d *archivedDelivery) any { return &d.Path }},
	column[archivedDelivery]{"post", func(d *archivedDelivery) any { return &d.ID.Post }},
	column[archivedDelivery]{"prepared", func(d *archivedDelivery) any { return &d.prepared }},
	column[archivedDelivery]{"reason", func(d *archivedDelivery) any { return (*string)(&d.Reason) }},
	column[archivedDelivery]{"receipts", func(d *archivedDelivery) any { return &d.receipts }},
	column[archivedDelivery]{"slot", func(d *archivedDelivery) any { return &d.Slot }},
	column[archivedDelivery]{"source", func(d *archivedDelivery) any { return &d.Source }},
	column[archivedDelivery]{"state", func(d *archivedDelivery) any { return (*string)(&d.State) }},
	column[archivedDelivery]{"target", func(d *archivedDelivery) any { return (*string)(&d.ID.Target) }},
	column[archivedDelivery]{"touched", func(d *archivedDelivery) any { return &d.Touched }},
)

var attemptTable = newTable(
	column[Attempt]{"at", func(a *Attempt) any { return &a.At }},
	column[Attempt]{"attempt", func(a *Attempt) any { return &a.ID }},
	column[Attempt]{"content", func(a *Attempt) any { return &a.Content }},
	column[Attempt]{"detail", func(a *Attempt) any { return &a.Detail }},
	column[Attempt]{"ended_at", func(a *Attempt) any { return &a.EndedAt }},
	column[Attempt]{"evidence", func(a *Attempt) any { return &a.Evidence }},
	column[Attempt]{"gen", func(a *Attempt) any { return &a.Gen }},
	column[Attempt]{"lease_until", func(a *Attempt) any { return &a.LeaseUntil }},
	column[Attempt]{"login", func(a *Attempt) any { return &a.Login }},
	column[Attempt]{"open", func(a *Attempt) any { return &a.Open }},
	column[Attempt]{"parts", func(a *Attempt) any { return &a.Parts }},
	column[Attempt]{"purpose", func(a *Attempt) any { return &a.Purpose }},
	column[Attempt]{"reason", func(a *Attempt) any { return (*string)(&a.Reason) }},
	column[Attempt]{"rendition", func(a *Attempt) any { return &a.Rendition }},
	column[Attempt]{"run", func(a *Attempt) any { return &a.Run }},
	column[Attempt]{"sent", func(a *Attempt) any { return &a.Sent }},
	column[Attempt]{"source", func(a *Attempt) any { return &a.Source }},
	column[Attempt]{"state", func(a *Attempt) any { return (*string)(&a.State) }},
)

var receiptTable = newTable(
	column[PartReceipt]{"at", func(r *PartReceipt) any { return &r.At }},
	column[PartReceipt]{"attempt", func(r *PartReceipt) any { return &r.Attempt }},
	column[PartReceipt]{"by_whom", func(r *PartReceipt) any { return &r.ByWhom }},
	column[PartReceipt]{"id", func(r *PartReceipt) any { return &r.ID }},
	column[PartReceipt]{"part", func(r *PartReceipt) any { return &r.Part }},
	column[PartReceipt]{"ref", func(r *PartReceipt) any { return &r.Ref }},
	column[PartReceipt]{"sent_at", func(r *PartReceipt) any { return &r.SentAt }},
	column[PartReceipt]{"url", func(r *PartReceipt) any { return &r.URL }},
)

var stepTable = newTable(
	column[namedStep]{"at", func(p *namedStep) any { return &p.At }},
	column[namedStep]{"expires", func(p *namedStep) any { return &p.Expires }},
	column[namedStep]{"handle", func(p *namedStep) any { return &p.Handle }},
	column[namedStep]{"lease_until", func(p *namedStep) any { return &p.LeaseUntil }},
	column[namedStep]{"run", func(p *namedStep) any { return &p.Run }},
	column[namedStep]{"state", func(p *namedStep) any { return &p.State }},
	column[namedStep]{"step", func(p *namedStep) any { return &p.Step }},
)

var bindingTable = newTable(
	column[Binding]{"at", func(b *Binding) any { return &b.At }},
	column[Binding]{"baseline", func(b *Binding) any { return &b.Baseline }},
	column[Binding]{"content_branch", func(b *Binding) any { return &b.ContentBranch }},
	column[Binding]{"home_url", func(b *Binding) any { return &b.HomeURL }},
	column[Binding]{"ledger", func(b *Binding) any { return &b.Ledger }},
	column[Binding]{"repo_id", func(b *Binding) any { return &b.RepoID }},
	column[Binding]{"signer", func(b *Binding) any { return &b.Signer }},
	column[Binding]{"why", func(b *Binding) any { return &b.Why }},
)

var holdTable = newTable(
	column[Hold]{"at", func(h *Hold) any { return &h.At }},
	column[Hold]{"by", func(h *Hold) any { return &h.By }},
	column[Hold]{"detail", func(h *Hold) any { return &h.Detail }},
	column[Hold]{"hold", func(h *Hold) any { return &h.ID }},
	column[Hold]{"login", func(h *Hold) any { return &h.Login }},
	column[Hold]{"reason", func(h *Hold) any { return &h.Reason }},
	column[Hold]{"scope", func(h *Hold) any { return &h.Scope }},
)

var credentialTable = newTable(
	column[CredentialState]{"at", func(c *CredentialState) any { return &c.At }},
	column[CredentialState]{"digest", func(c *CredentialState) any { return &c.Digest }},
	column[CredentialState]{"file", func(c *CredentialState) any { return &c.File }},
	column[CredentialState]{"login", func(c *CredentialState) any { return &c.Login }},
	column[CredentialState]{"pending", func(c *CredentialState) any { return &c.Pending }},
	column[CredentialState]{"pending_run", func(c *CredentialState) any { return &c.PendingRun }},
	column[CredentialState]{"pending_seq", func(c *CredentialState) any { return &c.PendingSeq }},
	column[CredentialState]{"pending_until", func(c *CredentialState) any { return &c.PendingUntil }},
	column[CredentialState]{"seq", func(c *CredentialState) any { return &c.Seq }},
)

var tipTable = newTable(
	column[Tip]{"at", func(t *Tip) any { return &t.At }},
	column[Tip]{"chain", func(t *Tip) any { return &t.Chain }},
	column[Tip]{"config", func(t *Tip) any { return &t.Config }},
	column[Tip]{"content", func(t *Tip) any { return &t.Content }},
	column[Tip]{"finished", func(t *Tip) any { return &t.Finished }},
	column[Tip]{"next", func(t *Tip) any { return &t.Next }},
	column[Tip]{"run", func(t *Tip) any { return &t.Run }},
	column[Tip]{"told", func(t *Tip) any { return &t.Told }},
	column[Tip]{"told_at", func(t *Tip) any { return &t.ToldAt }},
	column[Tip]{"waiting", func(t *Tip) any { return &t.Waiting }},
)

var extraTable = newTable(
	column[archivedExtra]{"dest", func(x *archivedExtra) any { return &x.Dest }},
	column[archivedExtra]{"known", func(x *archivedExtra) any { return &x.Known }},
	column[archivedExtra]{"post", func(x *archivedExtra) any { return &x.post }},
	column[archivedExtra]{"receipt", func(x *archivedExtra) any { return &x.Receipt }},
	column[archivedExtra]{"target", func(x *archivedExtra) any { return &x.target }},
)
