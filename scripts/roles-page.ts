import { KEY_SCOPE_NAMES, KEY_SCOPES } from "../src/accounts/key-scopes.ts";
import { ROLES } from "../src/accounts/model.ts";
import { may, PERMISSIONS, type PermissionName, ROLE_NAMES } from "../src/accounts/roles.ts";

type Table = (head: string[], rows: string[][]) => string;

/** Which role may do what, from the table that the pages check. */
export function rolesPage(table: Table): string[] {
  const names = Object.keys(PERMISSIONS) as PermissionName[];
  return [
    "A member is a person who signs in to an account, with one role in each account. Roles apply " +
      "to the pages under `/dashboard` and to the authorization of applications. The role is read " +
      "again with every request and every vote, so a change takes effect at once.",
    table(
      ["a member may", ...ROLES.map((role) => ROLE_NAMES[role])],
      names.map((name) => [
        PERMISSIONS[name].meaning,
        ...ROLES.map((role) => (may(role, name) ? "yes" : "no")),
      ]),
    ),
    "## Members",
    "Admins invite, change and remove members under *Settings › Team* of the dashboard, the operator also with " +
      "`sliproad members create`, `set-role`, `reset-factor` and `remove` on [the command " +
      "line](command-line.md). An account keeps at least one admin. How members sign in: [members " +
      "and sign-in](../guides/sign-in.md).",
    table(
      ["role", "name on the command line"],
      ROLES.map((role) => [ROLE_NAMES[role], `\`${role}\``]),
    ),
    "## API keys",
    "A key has no role. It may do what its scopes permit, everything if it has none. " +
      "`sliproad keys create` takes scopes, the networks that it may be used from and a time when " +
      "it ends; `sliproad keys rotate` replaces a key while the old one still works. An operation " +
      "outside its scopes is answered with 403 `insufficient_scope`, another network with 401.",
    table(
      ["scope", "a key with it may", "operations"],
      KEY_SCOPE_NAMES.map((scope) => [
        `\`${scope}\``,
        KEY_SCOPES[scope].meaning,
        KEY_SCOPES[scope].operations.map(inWords).join(", "),
      ]),
    ),
    "A generated key is `sk_test_` or `sk_live_`, 76 letters, digits, `-` or `_`, and six characters " +
      "that are the CRC-32 of all before them in base 36, lower case, its last six digits. A scanner of " +
      "source code can compute them to tell a key from a text that looks like one. A key that is " +
      "given by `SLIPROAD_API_KEY` has no checksum.",
    "Requests that move more money than " +
      "`SLIPROAD_APPROVAL_ABOVE_USD` become proposals, and two different members have to confirm them; " +
      "a key cannot vote. Some operations take only keys of the operator's account, the first account " +
      "of the installation: bank deposits that wait for a decision, and the sandbox clock.",
    "The operator's members also review the KYC applications of all accounts.",
  ];
}

/** `createOfframps` as in the API reference: create offramps. */
function inWords(operation: string): string {
  return operation.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
