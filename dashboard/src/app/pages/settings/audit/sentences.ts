import type { Entry } from "./audit.ts";

/** What an action means, after the name of who did it. `{it}` is the record it is about. */
const SENTENCES: Readonly<Record<string, string>> = {
  "account.create": "created the account",
  "account.update": "changed the settings of the account",
  "account.freeze": "froze the account",
  "account.unfreeze": "ended the freeze of the account",
  "account.enable_webhooks": "enabled webhooks for the account",
  "account.set_billing_email": "changed the billing e-mail",
  "api_key.create": "created the API key {it}",
  "api_key.rotate": "replaced the API key {it}",
  "api_key.revoke": "revoked the API key {it}",
  "app.create": "created the app {it}",
  "app.update": "changed the app {it}",
  "app.delete": "deleted the app {it}",
  "app.pause": "paused the webhooks of {it}",
  "app.resume": "resumed the webhooks of {it}",
  "app.rotate_webhook_secret": "rotated the webhook secret of {it}",
  "app.switch_webhook_secret": "ended the overlap of two webhook secrets of {it}",
  "app.rotate_client_secret": "created a new client secret for {it}",
  "app.reset_used": "reset {it} to not yet used",
  "app.replay": "replayed events to {it}",
  "app.disable_webhooks": "disabled the webhooks of {it}",
  "app_grant.create": "authorized the app {it}",
  "app_grant.revoke": "revoked the access of the app {it}",
  "member.create": "invited {it}",
  "member.invite_again": "sent the invitation of {it} again",
  "member.set_role": "changed the role of {it}",
  "member.remove": "removed {it} from the team",
  "session.create": "signed in",
  "session.delete": "signed out",
  "session.confirm": "confirmed their identity",
  "session.refuse": "was refused at sign-in",
  "session.end": "ended one of their sessions",
  "session.end_others": "ended their other sessions",
  "session.switch_account": "switched to this account",
  "password.set": "chose a password",
  "password.change": "changed their password",
  "password.reset": "asked for a link to reset their password",
  "passkey.create": "added a passkey",
  "passkey.remove": "removed a passkey",
  "passkey.rename": "renamed a passkey",
  "passkey.refuse": "was refused with a passkey",
  "second_factor.reset": "reset the second factor of {it}",
  "recovery_codes.create": "created new recovery codes",
  "proposal.create": "asked for approval",
  "proposal.confirm": "confirmed a proposal",
  "proposal.reject": "rejected a proposal",
  "proposal.done": "carried out a proposal",
  "proposal.void": "ended a proposal that had changed",
  "proposal.lapsed": "ended a proposal that nobody confirmed in time",
  "proposal.failed": "could not carry out a proposal",
  "proposal.unopposed": "carried out a proposal that nobody opposed",
  "quote.execute": "executed the quote {it}",
  "quote.fund": "paid for the quote {it} from a balance",
  "offramp.remove": "removed the payout {it}",
  "refund.create": "asked for the refund {it}",
  "refund.fail": "noted that the refund {it} failed",
  "refund_address.create": "registered a refund address",
  "payment_detail.create": "registered the bank account {it}",
  "document.attach": "attached a document to {it}",
  "document.read": "opened the document of {it}",
  "kyc.read": "opened the identity review of {it}",
  "kyc.read_file": "opened a file of the identity review of {it}",
  "kyc.send_back": "sent the identity check of {it} back",
  "user.request_erasure": "asked to erase the user {it}",
  "user.restore": "took back the erasure of the user {it}",
  "user.erase": "erased the user {it}",
  "export.write": "created an export",
  "export.remove": "removed an export",
  "travel.export": "exported a travel record",
  "deposit.set_aside": "set a deposit aside",
  "bank_item.settle": "settled the bank exception {it}",
  "limit.set": "set a limit",
  "limit.remove": "removed a limit",
  "payouts.hold": "held all payouts",
  "payouts.release": "released all payouts",
};

const KINDS: Readonly<Record<string, string>> = {
  member: "",
  person: "",
  api_key: "API key ",
  app: "app ",
  proposal: "The members who confirmed proposal ",
};
const ALONE: Readonly<Record<string, string>> = {
  "command line": "The operator (command line)",
  "first start": "The first start",
  worker: "Sliproad",
};

/** Who acted, by name where one is known. */
export function nameActor(
  { actor }: Pick<Entry, "actor">,
  names: Readonly<Record<string, string>>,
): string {
  return ALONE[actor] ?? nameReference(actor, names);
}

/** What was done, in words; an action without a sentence by its name. */
export function sayAction(entry: Entry, names: Readonly<Record<string, string>>): string {
  const sentence = SENTENCES[entry.action];
  if (!sentence) return `${entry.action.replaceAll(/[._]/g, " ")}: ${nameIt(entry, names)}`;
  return sentence.replace("{it}", nameIt(entry, names));
}

function nameIt({ record }: Entry, names: Readonly<Record<string, string>>): string {
  const id = record.slice(record.indexOf(":") + 1);
  return names[id] ?? `…${id.slice(-8)}`;
}

function nameReference(reference: string, names: Readonly<Record<string, string>>): string {
  const [kind = "", id = ""] = reference.split(":");
  const name = names[id] ?? `…${id.slice(-8)}`;
  return `${KINDS[kind] ?? `${kind.replaceAll("_", " ")} `}${name}`;
}
