package content

// The codes of this package's diagnostics. They are stable; docs/diagnostics.md explains each.
const (
	// Files:

	CodePostTooLarge      = "post_too_large"
	CodeInvalidUTF8       = "invalid_utf8"
	CodeControlCharacter  = "control_character"
	CodeInternal          = "internal_error"
	CodeReadFailed        = "read_failed"
	CodeNotFound          = "not_found"
	CodeOutsidePosts      = "outside_posts"
	CodeNoPostsFolder     = "no_posts_folder"
	CodeStrayFile         = "stray_file"
	CodeUnreferencedMedia = "unreferenced_media"
	CodeSymlink           = "symlink"
	CodeBadPath           = "bad_path"
	CodeDuplicateID       = "duplicate_id"

	// YAML:

	CodeNoFrontMatter       = "no_front_matter"
	CodeUnclosedFrontMatter = "unclosed_front_matter"
	CodeYAMLSyntax          = "yaml_syntax"
	CodeYAMLUnsafe          = "yaml_unsafe"
	CodeYAMLTooLarge        = "yaml_too_large"
	CodeYAMLTooDeep         = "yaml_too_deep"
	CodeDuplicateKey        = "duplicate_key"
	CodeUnknownKey          = "unknown_key"
	CodeMissingKey          = "missing_key"
	CodeWrongType           = "wrong_type"
	CodeBadValue            = "bad_value"
	CodeUnsupported         = "unsupported"
	CodeSchema              = "schema"

	// The front matter of a post:

	CodeMissingID           = "missing_id"
	CodeBadID               = "bad_id"
	CodeBadLanguage         = "bad_language"
	CodeNoDestinations      = "no_destinations"
	CodeUnknownDestination  = "unknown_destination"
	CodeConflictingOverride = "conflicting_override"
	CodeDraftWithTime       = "draft_with_time"
	CodeSettingNotInPost    = "setting_not_in_post"
	CodeMediaOutside        = "media_outside"
	CodeMediaURL            = "media_url"
	CodeMediaPart           = "media_part"

	// The body of a post:

	CodeTooDeep                = "too_deep"
	CodeTooComplex             = "too_complex"
	CodeTooManyParts           = "too_many_parts"
	CodeBlockUnclosed          = "block_unclosed"
	CodeBlockNotOpen           = "block_not_open"
	CodeBlockNested            = "block_nested"
	CodeBlockMisplaced         = "block_misplaced"
	CodeBlockUnknown           = "block_unknown"
	CodeBlockNoDestination     = "block_no_destination"
	CodeBlockCrossesPart       = "block_crosses_part"
	CodeBlockUnusedDestination = "block_unused_destination"
	CodeSeveralInstead         = "several_instead"
	CodeSetextHeading          = "setext_heading"
	CodeBreakNeedsBlankLine    = "break_needs_blank_line"
	CodeAmbiguousBreak         = "ambiguous_break"
	CodeHTMLNotSupported       = "html_not_supported"
	CodeTableNotSupported      = "table_not_supported"
	CodeInlineImage            = "inline_image"
	CodeBadLink                = "bad_link"
	CodeLinkTitleDropped       = "link_title_dropped"
	CodeUnknownPerson          = "unknown_person"
	CodeNoHandle               = "no_handle"
	CodeHardWrapped            = "hard_wrapped"
	CodeEmptyPost              = "empty_post"

	// Of broadside.yaml:

	CodeUnknownVersion  = "unknown_version"
	CodeUnknownProvider = "unknown_provider"
	CodeBadName         = "bad_name"
	CodeNameClash       = "name_clash"
	CodeBadServer       = "bad_server"
	CodeBadTarget       = "bad_target"
	CodeNoTarget        = "no_target"
	CodeSameTarget      = "same_target"
	CodeBadFolder       = "bad_folder"
	CodeBadKey          = "bad_key"
	CodeUnknownAbility  = "unknown_ability"
	CodeBadURL          = "bad_url"
	CodeBadHandle       = "bad_handle"
)
