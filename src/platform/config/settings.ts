import { BANK_SETTINGS } from "./bank-settings.ts";
import { CHAIN_SETTINGS } from "./chain-settings.ts";
import { FILE_SETTINGS } from "./file-settings.ts";
import { LEAVING_SETTINGS } from "./leaving-settings.ts";
import { RETENTION_SETTINGS } from "./retention-settings.ts";
import { SCREENING_SETTINGS } from "./screening-settings.ts";
import {
  choice,
  databaseUrl,
  integer,
  key,
  matching,
  minorUnits,
  networks,
  optional,
  secret,
  text,
  uris,
  urlOf,
  wholeNumber,
  words,
} from "./setting-kinds.ts";
import { SIGN_IN_SETTINGS } from "./sign-in-settings.ts";
import { SIGNER_SETTINGS } from "./signer-settings.ts";
import { TRAVEL_SETTINGS } from "./travel-settings.ts";

/** Every setting of the program, in one table. docs/reference/settings.md is generated from it. */
export const SETTINGS = {
  mode: choice(
    "SLIPROAD_MODE",
    ["sandbox", "live"],
    "sandbox",
    "`sandbox` simulates banks and chains; `live` moves real money. A database keeps the mode " +
      "it was created in.",
  ),
  host: text("HOST", "127.0.0.1", "Address to listen on."),
  port: integer("PORT", 0, 65_535, 4000, "Port to listen on; 0 picks a free one."),
  worker_port: integer(
    "SLIPROAD_WORKER_PORT",
    0,
    65_535,
    4001,
    "Port on which `sliproad worker` serves `/healthz`, `/readyz` and `/metrics`; 0 picks a free " +
      "one. Other commands do not use it.",
  ),
  public_url: optional(
    "SLIPROAD_PUBLIC_URL",
    "The public URL of this server; every absolute URL in responses starts with it, and passkeys " +
      "belong to its host name. Default: `http://HOST:PORT`. Live mode requires https.",
  ),
  ...FILE_SETTINGS,
  database_url: secret(
    "DATABASE_URL",
    "URL of a PostgreSQL 15 to 18 instead of the embedded one; of several hosts, the primary.",
    databaseUrl,
  ),
  database_connections: integer(
    "SLIPROAD_DATABASE_CONNECTIONS",
    4,
    500,
    16,
    "Maximum database connections per process.",
  ),
  database_pipeline: choice(
    "SLIPROAD_DATABASE_PIPELINE",
    ["on", "off"],
    "on",
    "Whether statements are sent without waiting for earlier answers. `off` is slower; use it if " +
      "the driver or a proxy in front of the database has problems with pipelining.",
  ),
  batch_by: choice(
    "SLIPROAD_BATCH_BY",
    ["installation", "account"],
    "installation",
    "Whether commands, and background work, of several accounts may share a transaction. " +
      "`account` is for a database distributed by account.",
  ),
  trusted_proxies: networks(
    "SLIPROAD_TRUSTED_PROXIES",
    "IP addresses or networks of proxies, separated by commas, whose X-Forwarded-For is trusted.",
  ),
  rate_limit: integer(
    "SLIPROAD_RATE_LIMIT",
    0,
    1_000_000,
    1000,
    "Requests per second, API key and process; 0 = no limit.",
  ),
  rate_limit_anonymous: integer(
    "SLIPROAD_RATE_LIMIT_ANONYMOUS",
    0,
    1_000_000,
    20,
    "Requests per second, IP address and process for API calls without a valid key; 0 = no limit.",
  ),
  stalled_seconds: integer(
    "SLIPROAD_STALLED_SECONDS",
    1,
    3600,
    120,
    "A client that reads nothing of its answer for this long, or for at most twice as long, is " +
      "disconnected.",
  ),
  api_key: secret(
    "SLIPROAD_API_KEY",
    "API key of the first account, used on the first start. Generated and printed if not set.",
    matching(/^[\x21-\x7e]{20,255}$/, "must be 20 to 255 printable characters without spaces"),
  ),
  ...SIGN_IN_SETTINGS,
  encryption_key: secret(
    "SLIPROAD_ENCRYPTION_KEY",
    "Master key for personal data: 32 bytes, base64. Sandbox generates one in the data " +
      "directory; live mode does not start without it.",
    key,
  ),
  encryption_key_previous: secret(
    "SLIPROAD_ENCRYPTION_KEY_PREVIOUS",
    "The previous master key; needed until `sliproad keys rotate-encryption` has finished.",
    key,
  ),
  kms_command: optional(
    "SLIPROAD_KMS_COMMAND",
    "Path of a program that asks a key management service to wrap and unwrap keys; the master " +
      "key then never leaves that service. Replaces SLIPROAD_ENCRYPTION_KEY.",
  ),
  signing_key: secret(
    "SLIPROAD_SIGNING_KEY",
    "Key that signs the heads of the sealed logs: 32 bytes, base64. Sandbox generates one in the " +
      "data directory; live mode does not start without it.",
    key,
  ),
  catalogue_file: optional(
    "SLIPROAD_CATALOGUE_FILE",
    "JSON file that overrides rails, required fields, minimums, blocked countries and the " +
      "network fees of chains.",
  ),
  fees_file: optional(
    "SLIPROAD_FEES_FILE",
    "JSON file that overrides the fees: basis points and a flat part in usd for local, swift and " +
      "wire, basis points for onramp.",
  ),
  market_risk_file: optional(
    "SLIPROAD_MARKET_RISK_FILE",
    'JSON file with spreads and maximums of the exposure, `{ "spread_basis_points": ' +
      '{ "default": 10, "eur": 5 }, "exposure_max_usd": { "default": "250000" } }`. A currency ' +
      "above its maximum is not quoted. Without the file there are none.",
  ),
  rates_file: optional(
    "SLIPROAD_RATES_FILE",
    'JSON file with rates, `{ "as_of": "2026-11-15T09:00:00Z", "rates": { "eur": "0.86" } }`: ' +
      "units for one token. Read again every minute. Without `as_of`, which live mode requires, " +
      "its rates never expire.",
  ),
  rates_url: optional(
    "SLIPROAD_RATES_URL",
    "URL of daily reference rates in JSON, `{ base, date, rates }` with base EUR or USD, " +
      "read every 15 minutes. Live mode requires this or a file; sandbox has a built-in table.",
  ),
  rates_max_age_minutes: integer(
    "SLIPROAD_RATES_MAX_AGE_MINUTES",
    1,
    44_640,
    5_760,
    "Maximum age of rates for new quotes. With the default, daily rates stay valid over a weekend.",
  ),
  token_rates_file: optional(
    "SLIPROAD_TOKEN_RATES_FILE",
    'JSON file with the tokens\' own rates in usd, `{ "as_of": "2026-11-15T09:00:00Z", "rates": ' +
      '{ "usdc": "0.9998" } }`. Read again every minute. A token that it does not name has no ' +
      "rates. Without a file or URL, one token is one usd.",
  ),
  token_rates_url: optional(
    "SLIPROAD_TOKEN_RATES_URL",
    "URL of the tokens' own rates, in the same format as the file, read every minute.",
  ),
  token_rates_max_age_minutes: integer(
    "SLIPROAD_TOKEN_RATES_MAX_AGE_MINUTES",
    1,
    44_640,
    60,
    "Maximum age of the tokens' own rates for new quotes.",
  ),
  kyc_enforcement: choice(
    "SLIPROAD_KYC_ENFORCEMENT",
    ["execution", "payment_detail", "off"],
    "execution",
    "When a user must have passed KYC: when a quote is executed, when a payment detail is " +
      "created, or never.",
  ),
  swift_clearance: choice(
    "SLIPROAD_SWIFT_CLEARANCE",
    ["with_approval", "separate"],
    "with_approval",
    "Whether passing KYC also approves a user for swift. With `separate` a reviewer grants and " +
      "withdraws that approval on the user's page, for eur and for all other currencies.",
  ),
  retention_years: integer(
    "SLIPROAD_RETENTION_YEARS",
    1,
    100,
    5,
    "How many years the law requires you to keep what is known about a person after their last " +
      "payment. A requested erasure waits for it. Identity documents are deleted when it has " +
      "passed since the last payment and the last decision on them.",
  ),
  ...SCREENING_SETTINGS,
  outbound_allow: {
    name: "SLIPROAD_OUTBOUND_ALLOW",
    default_text: "",
    meaning:
      "Hosts, addresses or networks (with an optional port), separated by commas, that requests " +
      "to webhook and document URLs can reach although they are private. In sandbox, loopback " +
      "needs no entry while HOST is loopback and neither SLIPROAD_PUBLIC_URL nor " +
      "SLIPROAD_TRUSTED_PROXIES is set.",
    read: words,
  },
  outbound_proxy: secret(
    "SLIPROAD_OUTBOUND_PROXY",
    "An HTTP proxy for requests to webhook and document URLs. Sliproad sends it (CONNECT) the IP " +
      "address that Sliproad resolved and checked, never a name. Other proxy variables are " +
      "ignored.",
    urlOf(/^https?:$/, "http://user:password@proxy.internal:3128"),
  ),
  documents: choice(
    "SLIPROAD_DOCUMENTS",
    ["always", "threshold", "never", "review"],
    "always",
    "Which executed offramps wait for a supporting document: all, those above the thresholds, " +
      "none; `review` also waits for its approval.",
  ),
  quote_life_minutes: integer(
    "SLIPROAD_QUOTE_LIFE_MINUTES",
    1,
    1440,
    30,
    "How long a quote's rates are locked and offramps can be added.",
  ),
  quotes_open_max: integer(
    "SLIPROAD_QUOTES_OPEN_MAX",
    0,
    1_000_000,
    20,
    "Maximum number of open quotes of a user, as each one locks rates; 0 = no limit.",
  ),
  ...BANK_SETTINGS,
  ...CHAIN_SETTINGS,
  ...SIGNER_SETTINGS,
  ...LEAVING_SETTINGS,
  rate_hold_hours: integer(
    "SLIPROAD_RATE_HOLD_HOURS",
    1,
    8_760,
    72,
    "How long a paid payout or onramp that waits for a document or another check keeps its " +
      "rate. Then it fails. The time of the operator's own checks does not count.",
  ),
  reroute_hours: integer(
    "SLIPROAD_REROUTE_HOURS",
    1,
    8_760,
    72,
    "How long a returned payout can be re-routed. Then it fails and is refunded.",
  ),
  rate_slippage_basis_points: integer(
    "SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS",
    0,
    10_000,
    50,
    "How much worse for you, in hundredths of a percent, the current rate may be when a late " +
      "document lets a payout proceed, or a deposit pays an onramp. Beyond it the payout fails, " +
      "and the deposit waits for the operator.",
  ),
  return_cost_max_basis_points: integer(
    "SLIPROAD_RETURN_COST_MAX_BASIS_POINTS",
    0,
    10_000,
    100,
    "How much of a payout, in hundredths of a percent, banks may keep before a re-route needs " +
      "two members, one of them the operator's.",
  ),
  return_cost_max_usd: integer(
    "SLIPROAD_RETURN_COST_MAX_USD",
    0,
    1_000_000,
    50,
    "The same limit in usd; the lower of both counts.",
  ),
  bank_horizon_hours: integer(
    "SLIPROAD_BANK_HORIZON_HOURS",
    1,
    720,
    72,
    "How long a payout may stay unanswered by the bank before the operator is notified.",
  ),
  approval_above_usd: optional(
    "SLIPROAD_APPROVAL_ABOVE_USD",
    "The approval amount: what moves more than this amount in usd, alone or with what moved " +
      "without approval in 24 hours, needs two-person approval on `/dashboard/approvals`: " +
      "execute, fund, refunds, re-routes and decisions on deposits; document reviews alone. " +
      "0 = always. Default: no limit in sandbox, 10000 in live mode.",
    minorUnits(/^\d{1,13}(\.\d{1,2})?$/, 2, "must be an amount in usd such as 10000 or 2500.50"),
  ),
  cooling_off_hours: optional(
    "SLIPROAD_COOLING_OFF_HOURS",
    "How long a new refund address or payment detail receives a refund, a re-route or money " +
      "from a balance only with approval, and an invoice with changed payment options none from " +
      "an offramp. Default: 0 in sandbox, 24 in live mode.",
    wholeNumber(0, 720),
  ),
  ...RETENTION_SETTINGS,
  ...TRAVEL_SETTINGS,
  security_contacts: uris(
    "SLIPROAD_SECURITY_CONTACT",
    "Where people can report a vulnerability: `mailto:`, `https:` or `tel:` URIs, separated by " +
      "commas, in order of preference. Served at `/.well-known/security.txt`; without it there " +
      "is no such file.",
  ),
  metrics_token: secret(
    "SLIPROAD_METRICS_TOKEN",
    "Bearer token for `/metrics`. Without it, only direct requests from this machine are " +
      "answered, in live mode none.",
  ),
  log_level: choice(
    "SLIPROAD_LOG_LEVEL",
    ["debug", "info", "warn", "error", "silent"],
    "info",
    "Log level. The log is JSON lines on standard output.",
  ),
} as const;
