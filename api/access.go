package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Role defines what a principal may do; docs/access.md has the table.
type Role string

// The roles.
const (
	RoleViewer     Role = "viewer"
	RoleOperator   Role = "operator"
	RoleTenant     Role = "tenant" // editor of the project of its name
	RoleOfProjects Role = "member" // may do what the projects that name it give it
	RoleAdmin      Role = "admin"
)

// Roles returns all roles.
func Roles() []Role {
	return []Role{RoleViewer, RoleOperator, RoleTenant, RoleOfProjects, RoleAdmin}
}

// Grant is a role and, for the role tenant, the tenant whose resources it covers.
type Grant struct {
	Role   Role   `json:"role" yaml:"role" enum:"viewer,operator,tenant,member,admin" doc:"What it may do: viewer, operator, tenant, member or admin."`
	Tenant string `json:"tenant,omitempty" yaml:"tenant" maxLength:"253" doc:"With the role tenant: the project that it is an editor of."`
}

// Validate checks a role and its tenant; at is the path of the grant, "" for none.
func (g Grant) Validate(at string) []FieldError {
	var out []FieldError
	if !slices.Contains(Roles(), g.Role) {
		out = append(out, FieldError{Field: at + "role", Code: CodeInvalid,
			Value: strconv.Quote(string(g.Role)), Want: "viewer, operator, tenant, member or admin"})
	}
	switch {
	case g.Role == RoleTenant && g.Tenant == "":
		out = append(out, FieldError{Field: at + "tenant", Code: CodeInvalid, Value: "missing",
			Want: "the name of the tenant"})
	case g.Role == RoleTenant && !nameRule.MatchString(g.Tenant):
		out = append(out, FieldError{Field: at + "tenant", Code: CodeInvalid,
			Value: strconv.Quote(g.Tenant), Want: "the name of a resource"})
	case g.Role != RoleTenant && g.Tenant != "":
		out = append(out, FieldError{Field: at + "tenant", Code: CodeInvalid,
			Value: strconv.Quote(g.Tenant), Want: "nothing: only the role tenant has one"})
	}
	return out
}

// Way is the way in which a principal signed in.
type Way string

// The ways.
const (
	WayNone        Way = "none"        // the API asks for no credentials
	WayFile        Way = "token-file"  // a token of the file of --token-file
	WayToken       Way = "token"       // a token made by the API
	WayUser        Way = "user"        // name and password of a local user
	WayCertificate Way = "certificate" // a client certificate
	WayOIDC        Way = "oidc"        // an OpenID Connect provider
)

// Session describes who makes the request and what it may do.
type Session struct {
	Name string `json:"name" doc:"Who it is: the name of the user, token or certificate."`
	Way  Way    `json:"way" enum:"none,token-file,token,user,certificate,oidc" doc:"Way of authentication. none: the API asks for no credentials."`
	Grant
	Scopes []string `json:"scopes" doc:"Scopes of operations that it may call."`
	// Projects are the projects of a member; who sees everything needs none.
	Projects []SessionProject `json:"projects,omitempty" doc:"Projects of the member."`
	// Expires is the end of the session or token.
	Expires time.Time `json:"expires,omitzero" doc:"When the session or token ends at the latest; absent: never."`
	// CSRF is for sessions by cookie alone.
	CSRF string `json:"csrf,omitempty" doc:"Of a session by cookie: the value of the header X-Weft-CSRF that every request but GET and HEAD needs."`
	// Token is in the answer that begins a session of a program alone.
	Token string `json:"token,omitempty" doc:"The session as a bearer token, in the answer to a sign-in that asked for it."`
	// Ways lists what this API takes for a sign-in.
	Ways []Way `json:"ways,omitempty" doc:"Ways to sign in at this API."`
}

// SessionProject is a project of a principal.
type SessionProject struct {
	Name string      `json:"name" doc:"Name of the project."`
	Role ProjectRole `json:"role" enum:"viewer,editor" doc:"What it may do there."`
}

// OpenSession is the list entry of a session that has not ended. It has no secrets.
type OpenSession struct {
	ID   string `json:"id" doc:"Id of the session, which is no secret."`
	Name string `json:"name" doc:"Name of the user or token."`
	Way  Way    `json:"way" enum:"token-file,token,user,oidc" doc:"Way of authentication."`
	Grant
	Created  time.Time `json:"created" doc:"When it began."`
	LastUsed time.Time `json:"lastUsed" doc:"When it was used last, give or take a minute."`
	Expires  time.Time `json:"expires" doc:"When it ends at the latest."`
	Current  bool      `json:"current,omitempty" doc:"It is that of the request."`
}

// SignIn is what a client sends for a session: a local user's name and password, or a token.
type SignIn struct {
	User     string `json:"user,omitempty" maxLength:"253" doc:"Name of a local user."`
	Password string `json:"password,omitempty" maxLength:"1024" doc:"The user's password."`
	Token    string `json:"token,omitempty" maxLength:"1024" doc:"A token, in place of user and password."`
	Device   string `json:"device,omitempty" maxLength:"4096" doc:"The handle of a device's sign-in, in place of user and password: 409 pending until somebody has confirmed it."`
	// Bearer is for programs, which have no use for a cookie.
	Bearer bool `json:"bearer,omitempty" doc:"The answer has the session as a bearer token, and sets no cookie."`
}

// DeviceSignIn is a sign-in that somebody confirms in a browser (RFC 8628, section 3.2).
type DeviceSignIn struct {
	UserCode                string    `json:"userCode" doc:"Code that the person enters."`
	VerificationURI         string    `json:"verificationUri" doc:"Where the person enters it."`
	VerificationURIComplete string    `json:"verificationUriComplete,omitempty" doc:"The same, with the code."`
	Interval                Duration  `json:"interval" doc:"Least pause between questions whether it was confirmed."`
	Expires                 time.Time `json:"expires" doc:"When it ends."`
	Handle                  string    `json:"handle" doc:"For device of POST /v1/session."`
}

// Token is a token for a program. The answer shows the secret once, when the token is made.
type Token struct {
	ID   string `json:"id" doc:"Id of the token, which is no secret."`
	Name string `json:"name" doc:"Who uses it."`
	Grant
	Created   time.Time `json:"created" doc:"When it was made."`
	CreatedBy string    `json:"createdBy" doc:"Who made it."`
	Expires   time.Time `json:"expires,omitzero" doc:"When it ends; absent: never."`
	LastUsed  time.Time `json:"lastUsed,omitzero" doc:"When it was used last, give or take a minute; absent: never."`
	// Secret is in the answer that makes the token alone.
	Secret string `json:"secret,omitempty" doc:"The token itself, in the answer that makes it and never again."`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"253" doc:"Who uses it."`
	Grant
	Lifetime Duration `json:"lifetime,omitzero" doc:"How long it lasts, such as 720h. Default: for ever."`
}

// Validate reports why no token is made for the request.
func (r *TokenRequest) Validate() error {
	faults := checkedName(r.Name)
	faults = append(faults, r.Grant.Validate("")...)
	if r.Lifetime < 0 || r.Lifetime > 0 && r.Lifetime.D() < time.Minute {
		faults = append(faults, FieldError{Field: "lifetime", Code: CodeInvalid,
			Value: r.Lifetime.String(), Want: "at least 1m, or nothing"})
	}
	return Refuse(faults)
}

// User is a local user.
type User struct {
	Name string `json:"name" doc:"Name of the user."`
	Grant
	Created  time.Time `json:"created" doc:"When it was added."`
	Changed  time.Time `json:"changed" doc:"When its password or role was set last: sessions before that have ended."`
	LastUsed time.Time `json:"lastUsed,omitzero" doc:"When it signed in last; absent: never."`
}

// UserRequest adds a user.
type UserRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"253" doc:"Name of the user."`
	Grant
	Password string `json:"password" minLength:"1" maxLength:"1024" doc:"Its password, of 12 characters at least."`
}

// minPassword is the shortest password, in characters.
const minPassword = 12

// Validate reports why the user is not added.
func (r *UserRequest) Validate() error {
	faults := checkedName(r.Name)
	faults = append(faults, r.Grant.Validate("")...)
	return Refuse(append(faults, checkedPassword(r.Password)...))
}

// PasswordRequest sets the password of a user.
type PasswordRequest struct {
	Password string `json:"password" minLength:"1" maxLength:"1024" doc:"The new password, of 12 characters at least."`
	Current  string `json:"current,omitempty" maxLength:"1024" doc:"The present one, which a user needs who sets his own."`
}

// Validate reports why the password is not set.
func (r *PasswordRequest) Validate() error { return Refuse(checkedPassword(r.Password)) }

// maxPrincipal is the longest name of a principal, in characters.
const maxPrincipal = 253

// ValidatePrincipal checks a principal's name chosen by another party, such as an identity
// provider, because Weft shows and logs the name unchanged.
func ValidatePrincipal(name string) error {
	printable := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if n := utf8.RuneCountInString(name); n >= 1 && n <= maxPrincipal &&
		!strings.ContainsFunc(name, func(r rune) bool { return !printable(r) }) &&
		strings.TrimSpace(name) == name {
		return nil
	}
	shown := strconv.QuoteToASCII(name[:min(len(name), 64)])
	return Refuse([]FieldError{{
		Field: "name", Code: CodeInvalid, Value: shown,
		Want: fmt.Sprintf("1 to %d printable characters, without a space at either end", maxPrincipal),
	}})
}

func checkedName(name string) []FieldError {
	var refused *Error
	if err := ValidateName(name); errors.As(err, &refused) {
		return refused.Fields
	}
	return nil
}

func checkedPassword(p string) []FieldError {
	if utf8.RuneCountInString(p) < minPassword {
		return []FieldError{{Field: "password", Code: CodeInvalid, Value: "too short",
			Want: fmt.Sprintf("at least %d characters", minPassword)}}
	}
	return nil
}
