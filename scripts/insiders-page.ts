import { ROLES } from "../src/accounts/model.ts";
import { may, ROLE_NAMES } from "../src/accounts/roles.ts";
import {
  INSIDERS,
  type Insider,
  type Reach,
  reachOf,
  scopesOf,
  WAY_OUT_NAMES,
  WAYS_OUT,
  type WayOutName,
} from "../src/accounts/ways-out.ts";

const ABOVE = {
  two_members: "two members must confirm it",
  from_own_deposit: "only money that the user paid in for it leaves",
  from_buyer: "not counted: it is the buyer's payment, which the buyer's own account approves",
} as const;

type Table = (head: string[], rows: string[][]) => string;

/** Who can move what without whom, computed from the tables of scopes, roles and ways out. */
export function insidersPage(table: Table): string[] {
  const pairs = INSIDERS.flatMap((one, at) =>
    INSIDERS.slice(at + 1).map((other) => [one, other] as const),
  );
  const stronger = pairs.filter((pair) => gainOf(pair).length > 0);
  const voters = ROLES.filter((role) => may(role, "vote")).map((role) => ROLE_NAMES[role]);
  return [
    "What a member of an account, or whoever holds one of its keys, can move against its will: " +
      "alone, and together with one other. It is computed from the tables of " +
      "[roles and scopes](roles.md); a test plays every way out with real keys and members.",
    "“Up to the approval amount” means that all of it in 24 hours is at most " +
      "`SLIPROAD_APPROVAL_ABOVE_USD`; limits, freezes, KYC and the cooling-off time of new " +
      "destinations reduce it further. A key without scopes has all scopes: give each program " +
      "the scopes that it needs.",
    "## Ways out",
    table(
      ["way out", "keys", "scopes that it takes", "roles", "above the approval amount"],
      WAY_OUT_NAMES.map((way) => [
        WAYS_OUT[way].meaning,
        WAYS_OUT[way].keys === "own" ? "the account's" : "the operator's",
        scopesOf(way)
          .map((scope) => `\`${scope}\``)
          .join(" and "),
        ROLES.filter((role) => reachOf([`role:${role}`], way) !== "nothing")
          .map((role) => ROLE_NAMES[role])
          .join(", "),
        ABOVE[WAYS_OUT[way].above],
      ]),
    ),
    `Roles that can confirm: ${voters.join(", ")}. A key cannot vote. A member who requests ` +
      "something in the dashboard gave a password or a second factor in the last ten minutes, and " +
      "does not confirm it by that; of the two who confirm, the last is somebody else.",
    "A key with `payouts:create` adds payouts also to a quote that somebody else prepared, until it " +
      "is executed: the total rises, and they are paid only if whoever executes or funds the quote " +
      "pays that total. Compare payees and total with what you prepared.",
    "These tables are about money that leaves, not about what stops it: a key of the operator with " +
      "`admin`, or one of the operator's reviewers, clears a match of the screening alone, and such a " +
      "key ends a freeze alone. Both are in the audit log.",
    "## Alone",
    table(
      ["who", "can alone"],
      INSIDERS.map((insider) => [nameOf(insider), describe(listReach([insider]))]),
    ),
    "## Two together",
    "Pairs that can do more than both of them alone; every other pair gains nothing.",
    table(
      ["who", "can together"],
      stronger.map((pair) => [pair.map(nameOf).join(" and "), describe(gainOf(pair))]),
    ),
    "More than the approval amount of the account's own money, if it was not paid in for it, takes " +
      "two members who can confirm. A key or a role alone never moves it, nor do two keys, once the " +
      "account has two members who can confirm.",
    "In an account with only one member who can confirm, that member invites the second alone, for " +
      "example under another address of their own. In live mode the new member votes after 24 hours; " +
      "then one person moves any amount. Create two members, different people, from the start; " +
      "`sliproad doctor --live` names accounts that have fewer.",
    "What buyers pay for an invoice goes to the bank account that the invoice names. Whoever may " +
      "change invoices can name another: in a changed invoice it is paid only after the " +
      "cooling-off time, in a new invoice at once. The secret of an application with client " +
      "credentials permits the same and belongs to no member: rotate it when somebody who knew " +
      "it leaves.",
  ];
}

type Reached = { way: WayOutName; reach: Reach };

function listReach(insiders: readonly Insider[]): Reached[] {
  const reached = WAY_OUT_NAMES.map((way) => ({ way, reach: reachOf(insiders, way) }));
  return reached.filter(({ reach }) => reach !== "nothing");
}

/** What two can do that neither can alone. */
function gainOf(pair: readonly [Insider, Insider]): Reached[] {
  return listReach(pair).filter(({ way, reach }) =>
    pair.every((insider) => reachOf([insider], way) !== reach),
  );
}

function describe(reached: readonly Reached[]): string {
  const texts = reached.map(({ way, reach }) => {
    const amount = reach === "any_amount" ? "any amount" : "up to the approval amount";
    return `${WAYS_OUT[way].meaning} (${amount})`;
  });
  return texts.length > 0 ? texts.join("; ") : "move nothing";
}

function nameOf(insider: Insider): string {
  const role = ROLES.find((role) => insider === `role:${role}`);
  return role ? ROLE_NAMES[role] : `a key with \`${insider.slice("key:".length)}\``;
}
