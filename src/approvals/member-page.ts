import { ROLES, type Role } from "../accounts/model.ts";
import { ROLE_NAMES } from "../accounts/roles.ts";
import { problemLine } from "../accounts/sign-in/password-pages.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { csrfField, moment, page, table } from "../platform/pages/layout.ts";

export const MEMBERS_PATH = "/dashboard/members";

type ShownMember = {
  person_id: string;
  email: string;
  role: Role;
  created_at: Date;
  has_password: boolean;
  has_factor: boolean;
};

/** The members of an account, and the forms that change them. */
export function membersPage(options: {
  mode: Mode;
  session: MemberSession;
  members: readonly ShownMember[];
  problem: string | null;
  notice: string | null;
}): Html {
  const { mode, session, members, problem, notice } = options;
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Members</h1></div>
${notice !== null && html`<section class="card notice" role="status"><p>${notice}</p></section>`}
<section class="card" aria-labelledby="members-title">
<h2 id="members-title">Who can sign in</h2>
${table({
  label: "Members, oldest first",
  columns: ["E-mail", "Role", "Since", "Second factor", "Change"],
  rows: members.map((member) => [
    member.email,
    ROLE_NAMES[member.role],
    moment(member.created_at),
    member.has_password ? (member.has_factor ? "Yes" : "No") : "Invited",
    changes(session, member),
  ]),
  empty: "This account has no members.",
})}
</section>
<section class="card" aria-labelledby="invite-title">
<h2 id="invite-title">Invite a member</h2>
${problemLine(problem)}
<form class="narrow" method="post" action="${MEMBERS_PATH}/add">
${csrfField(session.csrf)}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" required maxlength="254" autocomplete="off"
  autocapitalize="none" spellcheck="false">
${roleField("role", "developer")}
${reasonField("reason")}
<button class="primary" type="submit">Invite</button>
</form>
<p class="hint">They choose their own password by a link that is sent to them. Once two members can
vote, every change of members waits for two of them on the page of proposals.</p>
</section>`;
  return page({ title: "Members", mode, session, body });
}

function changes(
  session: MemberSession,
  { person_id, email, role, has_factor }: ShownMember,
): Html {
  const hidden = html`${csrfField(session.csrf)}
<input type="hidden" name="person_id" value="${person_id}">`;
  const id = (name: string) => `${name}-${person_id}`;
  return html`<details><summary>Change<span class="hidden"> ${email}</span></summary>
<form method="post" action="${MEMBERS_PATH}/change">
${hidden}
${roleField(id("role"), role)}
${reasonField(id("reason"))}
<div class="buttons">
<button type="submit" name="action" value="set_role">Set role</button>
${
  has_factor &&
  html`<button type="submit" name="action" value="reset_factor">Reset second factor</button>`
}
<button type="submit" name="action" value="remove">Remove</button>
</div>
</form>
</details>`;
}

function roleField(id: string, chosen: Role): Html {
  return html`<p><label for="${id}">Role</label>
<select id="${id}" name="role">${ROLES.map(
    (role) =>
      html`<option value="${role}"${role === chosen && html` selected`}>${
        ROLE_NAMES[role]
      }</option>`,
  )}</select></p>`;
}

function reasonField(id: string): Html {
  return html`<label for="${id}">Reason</label>
<input id="${id}" name="reason" required maxlength="200" autocomplete="off">`;
}
