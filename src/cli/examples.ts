/** What `--help` shows below the options of a command: examples to paste, and further reading. */
type Lesson = { examples: readonly string[]; more?: string };

const WEBHOOKS = "Bodies, signatures and retries of events: docs/reference/webhooks.md.";
const SETTINGS = "Settings are environment variables: docs/reference/settings.md.";
const ID = "01900000-0000-7000-8000-000000000000";

/** By the command's path. */
export const LESSONS: Readonly<Record<string, Lesson>> = {
  start: {
    examples: ["sliproad start", "PORT=8080 SLIPROAD_DATA_DIR=/var/lib/sliproad sliproad start"],
    more: SETTINGS,
  },
  api: {
    examples: ["DATABASE_URL=postgres://sliproad@db.internal/sliproad sliproad api"],
    more: SETTINGS,
  },
  worker: {
    examples: [
      "DATABASE_URL=postgres://sliproad@db.internal/sliproad sliproad worker",
      "DATABASE_URL=postgres://sliproad@db.internal/sliproad sliproad worker --canary 25",
    ],
    more: SETTINGS,
  },
  demo: {
    examples: ["sliproad demo", "sliproad demo --json", "NO_COLOR=1 sliproad demo --fast"],
    more: "It needs a running sandbox (sliproad start) and moves no real money.",
  },
  migrate: {
    examples: ["sliproad migrate", "sliproad migrate --json", "sliproad migrate --distribute"],
    more: "Several database servers: docs/guides/citus.md.",
  },
  "files copy": {
    examples: ["sliproad files copy --to s3", "sliproad files copy --to directory --json"],
    more: "Files on S3: docs/guides/operating.md.",
  },
  "accounts create": { examples: ["sliproad accounts create --name Acme"] },
  "accounts list": { examples: ["sliproad accounts list", "sliproad accounts list --json"] },
  "accounts set-billing-email": {
    examples: ["sliproad accounts set-billing-email --account Acme --email billing@acme.example"],
    more: "Who sees which invoice: docs/guides/invoices.md.",
  },
  "accounts set": {
    examples: [
      "sliproad accounts set --account Acme --kyc-two-person-approval on",
      "sliproad accounts set --account Acme --kyc-review operator",
    ],
  },
  "accounts enable-webhooks": {
    examples: ["sliproad accounts enable-webhooks Acme --reason 'signed on 3 March'"],
    more: WEBHOOKS,
  },
  "keys create": {
    examples: [
      "sliproad keys create",
      "sliproad keys create --account Acme --name 'payroll server' --json",
      "sliproad keys create --name reports --scope read --network 203.0.113.0/24 --expires 90d",
    ],
  },
  "keys rotate": {
    examples: ["sliproad keys rotate 01900000-0000-7000-8000-000000000000 --overlap 48"],
  },
  "keys list": { examples: ["sliproad keys list"] },
  "keys revoke": {
    examples: ["sliproad keys revoke 01900000-0000-7000-8000-000000000000 --reason 'key leaked'"],
  },
  "keys rotate-encryption": {
    examples: ["sliproad keys rotate-encryption --reason 'yearly rotation'"],
    more: "With the key in the environment: docs/decisions/0004-master-key-rotation.md.",
  },
  "members create": {
    examples: ["sliproad members create --email ana@example.com --role approver --account Acme"],
  },
  "members list": { examples: ["sliproad members list --account Acme"] },
  "members set-role": {
    examples: ["sliproad members set-role --email ana@example.com --role accountant"],
  },
  "members reset-factor": {
    examples: ["sliproad members reset-factor --email ana@example.com --reason 'lost the phone'"],
  },
  "members remove": {
    examples: ["sliproad members remove --email ana@example.com --reason 'left the company'"],
  },
  outbox: {
    examples: ["sliproad outbox", "sliproad outbox --to ana@example.com --json"],
    more: "With a mail server the mail is sent: SLIPROAD_SMTP_URL in docs/reference/settings.md.",
  },
  "apps delete": {
    examples: ["sliproad apps delete 01900000-0000-7000-8000-000000000000 --reason 'not in use'"],
  },
  "apps create": {
    examples: [
      "sliproad apps create --name Sync --webhook-url http://localhost:3000/hook " +
        "--events offramp_update,kyc_update",
      "sliproad apps create --name Books --flow authorization_code " +
        "--redirect-uri https://books.example.com/callback",
    ],
    more: `OAuth: docs/guides/oauth.md. ${WEBHOOKS}`,
  },
  "apps list": { examples: ["sliproad apps list", "sliproad apps list --account Acme"] },
  "apps rotate-secret": {
    examples: [
      "sliproad apps rotate-secret 01900000-0000-7000-8000-000000000000 --grace-hours 48",
      "sliproad apps rotate-secret 01900000-0000-7000-8000-000000000000 --client",
    ],
  },
  "apps pause": { examples: ["sliproad apps pause 01900000-0000-7000-8000-000000000000"] },
  "apps reset-used": {
    examples: ["sliproad apps reset-used 01900000-0000-7000-8000-000000000000"],
  },
  "apps resume": { examples: ["sliproad apps resume 01900000-0000-7000-8000-000000000000"] },
  "apps replay": {
    examples: [
      "sliproad apps replay 01900000-0000-7000-8000-000000000000 --from 2026-03-01T00:00:00Z " +
        "--only-failed",
    ],
  },
  "events replay": {
    examples: [
      "sliproad events replay 01900000-0000-7000-8000-000000000000",
      "sliproad events replay --app 01900000-0000-7000-8000-000000000000 " +
        "--from 2026-03-01T00:00:00Z",
    ],
    more: WEBHOOKS,
  },
  listen: {
    examples: [
      "sliproad listen",
      "sliproad listen --forward-to http://localhost:3000/hook --event offramp_update",
    ],
    more: `Create events in another terminal: sliproad trigger. ${WEBHOOKS}`,
  },
  trigger: {
    examples: [
      "sliproad trigger offramp_update",
      "sliproad trigger offramp_update --status bounced",
    ],
    more: `Without an argument it lists the events. ${WEBHOOKS}`,
  },
  "rates list": { examples: ["sliproad rates list", "sliproad rates list --held"] },
  "rates confirm": {
    examples: ["sliproad rates confirm usdc eur 0.81", "sliproad rates confirm --all"],
  },
  "wallet new": {
    examples: ["sliproad wallet new", "sliproad wallet new --keystore keystore.json"],
    more: "Run it on a machine that is not the server: docs/guides/chains.md.",
  },
  "wallet restore": { examples: ["sliproad wallet restore --keystore keystore.json"] },
  "wallet show": { examples: ["sliproad wallet show", "sliproad wallet show --words"] },
  signer: { examples: ["sliproad signer"] },
  "wallet address": {
    examples: [
      "sliproad wallet address 17",
      "sliproad wallet address 0x9858effd232b4033e47d90003d41ec34ecaeda94",
    ],
  },
  "wallet skip": {
    examples: ["sliproad wallet skip 500 --reason 'restored the backup of Monday'"],
    more: "When this is needed: docs/guides/chains.md.",
  },
  "sends list": { examples: ["sliproad sends list", "sliproad sends list --json"] },
  "sends cancel": {
    examples: ["sliproad sends cancel refund:ACCOUNT:REFUND --reason 'the payee asked for it'"],
    more: "What its record shows then: docs/guides/chains.md.",
  },
  "sends resume": {
    examples: ["sliproad sends resume polygon --reason 'compared with two explorers'"],
    more: "What to compare before: docs/guides/chains.md.",
  },
  reconcile: {
    examples: [
      "sliproad reconcile",
      "sliproad reconcile --bank main-eur --json",
      "sliproad reconcile --chain polygon --book --reason 'funded the treasury'",
    ],
    more:
      "Exit code 1 where something differs. What is compared, and what to do: " +
      "docs/guides/reconciliation.md, for chains docs/guides/chains.md.",
  },
  "treasury open": {
    examples: [
      "sliproad treasury open main-eur --reason 'balance of the first statement'",
      "sliproad treasury open main-usd --amount 5000:usd --reason 'confirmed by the bank'",
    ],
    more: "Once an account has two members who can vote, it is a proposal.",
  },
  "treasury book": {
    examples: [
      "sliproad treasury book --line line-12 --as fee --reason 'monthly fee'",
      "sliproad treasury book --deposit DEPOSIT --reason 'our transfer from the other bank'",
    ],
    more: "Which lines to book, and which not: docs/guides/reconciliation.md.",
  },
  "banks list": { examples: ["sliproad banks list", "sliproad banks list --json"] },
  "banks show": {
    examples: ["sliproad banks show line-12 --reason 'the payer asked for it'"],
  },
  "banks settle": {
    examples: [
      "sliproad banks settle line-12 --reason 'the fee of October'",
      "sliproad banks settle line-13 --payment ID --reason 'the bank confirmed it by phone'",
    ],
    more: "When to settle what: docs/guides/banks.md.",
  },
  "banks retry": { examples: ["sliproad banks retry statement.xml --reason 'sent again'"] },
  "chains list": { examples: ["sliproad chains list", "sliproad chains list --json"] },
  "chains resume": {
    examples: ["sliproad chains resume polygon --reason 'compared with two explorers'"],
    more: "What to compare before: docs/guides/chains.md.",
  },
  "chains sweeps": { examples: ["sliproad chains sweeps", "sliproad chains sweeps --json"] },
  "chains retry-sweep": {
    examples: ["sliproad chains retry-sweep 12 --reason 'The token is no longer paused'"],
  },
  "chains findings": {
    examples: ["sliproad chains findings"],
    more: "What each finding means: docs/guides/chains.md.",
  },
  "accounts freeze": {
    examples: ["sliproad accounts freeze --account Acme --reason 'suspected theft of keys'"],
  },
  "accounts unfreeze": {
    examples: ["sliproad accounts unfreeze --account Acme --reason 'keys were replaced'"],
  },
  "payouts status": { examples: ["sliproad payouts status", "sliproad payouts status --json"] },
  "payouts hold": {
    examples: ["sliproad payouts hold --reason 'a file with wrong amounts was found'"],
    more: "What a hold stops, and what to do then: docs/guides/runbook.md.",
  },
  "payouts release": {
    examples: [
      "sliproad payouts release --reason 'all files checked'",
      "sliproad payouts release --anyway --reason 'a copy for a rehearsal'",
    ],
    more: "After a restore: docs/guides/runbook.md.",
  },
  "limits list": { examples: ["sliproad limits list"] },
  "limits set": {
    examples: ["sliproad limits set --scope user --window day --amount 50000 --count 100"],
  },
  "exceptions list": { examples: ["sliproad exceptions list"] },
  "exceptions resolve": {
    examples: [
      "sliproad exceptions resolve 01900000-0000-7000-8000-000000000000 --as write_off " +
        "--reason 'nobody claimed it'",
    ],
    more: "What each resolution does: docs/guides/operating.md.",
  },
  "screening status": { examples: ["sliproad screening status"] },
  "screening list": { examples: ["sliproad screening list", "sliproad screening list --json"] },
  "screening clear": {
    examples: [
      "sliproad screening clear 01900000-0000-7000-8000-000000000000 --reason 'born elsewhere'",
    ],
    more: "What a decision does: docs/guides/screening.md.",
  },
  "screening confirm": {
    examples: [
      "sliproad screening confirm 01900000-0000-7000-8000-000000000000 --reason 'same passport'",
    ],
    more: "What a decision does: docs/guides/screening.md.",
  },
  "exports create": {
    examples: [
      "sliproad exports create --kind ledger --from 2026-10-01 --to 2026-11-01 --output ledger.csv",
      "sliproad exports create --kind audit_log --from 2026-01-01 --to 2026-07-01 --format jsonl " +
        "--account Acme --output audit.jsonl",
    ],
    more: "verify --export compares a file with the digests of all exports.",
  },
  "exposure list": { examples: ["sliproad exposure list"] },
  "exposure convert": {
    examples: [
      "sliproad exposure convert --bought 500:eur --sold 581.5:usdc --reference trade-1 " +
        "--reason 'bought at the bank'",
    ],
  },
  "documents approve": {
    examples: [
      "sliproad documents approve 01900000-0000-7000-8000-000000000000 --reason 'called the payee'",
    ],
    more: "Above the approval amount two members confirm it: docs/guides/documents.md.",
  },
  "users erase": {
    examples: [
      "sliproad users erase 01900000-0000-7000-8000-000000000000 --reason 'asked on 3 March'",
    ],
    more: "What stays, why and until when: docs/guides/kyc.md.",
  },
  "travel export": {
    examples: [
      "sliproad travel export --from 2026-10-01 --to 2026-11-01 --output travel.jsonl " +
        "--reason 'the regulator asked'",
    ],
    more: "What the records contain: docs/guides/onramps.md.",
  },
  "users retention": { examples: [`sliproad users retention ${ID}`] },
  "users restore": { examples: [`sliproad users restore ${ID} --reason 'wants to stay'`] },
  "rejected list": { examples: ["sliproad rejected list", "sliproad rejected list --json"] },
  "rejected settle": { examples: [`sliproad rejected settle ${ID} --reason 'planted by SQL'`] },
  verify: {
    examples: [
      "sliproad verify",
      "sliproad verify --without-keys",
      "sliproad verify --anchor /var/log/sliproad.log --json",
      "sliproad verify --since /var/log/sliproad.log.1",
      "sliproad verify --archives /srv/archives",
      "sliproad verify --export ledger.csv",
    ],
    more: "Exit code 1: a row is wrong; it is printed. Read-only, also next to a running service.",
  },
  archive: { examples: ["sliproad archive --to archives", "sliproad archive --show old.archive"] },
  backup: {
    examples: [
      "sliproad backup --output sliproad-2026-03-01.backup",
      "sliproad backup --output /var/backups/sliproad.backup --json",
    ],
    more: "Also while the service runs. Keep the keys elsewhere: docs/guides/operating.md.",
  },
  restore: {
    examples: ["sliproad restore --input sliproad-2026-03-01.backup"],
    more: "Payouts are on hold afterwards. What to do then: docs/guides/runbook.md.",
  },
  doctor: { examples: ["sliproad doctor", "sliproad doctor --json", "sliproad doctor --live"] },
  completion: {
    examples: ['eval "$(sliproad completion bash)"', 'eval "$(sliproad completion zsh)"'],
    more: "Add the line to ~/.bashrc or ~/.zshrc to load it in every terminal.",
  },
};

export const PROGRAM_HELP = `
Examples:
  $ sliproad start                     everything in one process; the sandbox by default
  $ sliproad demo                      a complete payout, step by step
  $ sliproad listen                    the account's events, as they happen
  $ sliproad help keys create          more about a command

Exit codes:
  0  done
  1  an error, or a problem was found; a message on stderr says what to do
     (verify and doctor print what they found; with --json it is in the document)

With --json a command prints one JSON document on stdout and nothing else. Settings such as
SLIPROAD_DATA_DIR and DATABASE_URL select the installation: docs/reference/settings.md.
The API: /docs of the running service.`;

export function lessonText({ examples, more }: Lesson): string {
  const lines = examples.map((example) => `  $ ${example}`);
  return ["", "Examples:", ...lines, ...(more ? ["", more] : [])].join("\n");
}
