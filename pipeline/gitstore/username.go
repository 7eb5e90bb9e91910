package gitstore

// UserName is the user.name of git's configuration: that of the checkout, where r is not nil, else the user's own. It is ""
// where there is none, or where the configuration cannot be read.
func UserName(r *Repo, env func(string) string) string {
	read := userConfig
	if r != nil {
		read = r.config
	}
	c, err := read(env)
	if err != nil {
		return ""
	}
	name, _ := c.get("user", "", "name")
	return name
}
