import { Api, type CallOptions } from "./api.ts";
import type { Fetch } from "./attempt.ts";
import { isBrowser } from "./browser.ts";
import { checkRetries, checkTimeout } from "./limit.ts";
import { Apps } from "./resources/apps.ts";
import { Balances, RefundAddresses, Refunds } from "./resources/balances.ts";
import { Conversions } from "./resources/conversions.ts";
import { Deposits } from "./resources/deposits.ts";
import { Exposures } from "./resources/exposures.ts";
import { Fees } from "./resources/fees.ts";
import { Invoices } from "./resources/invoices.ts";
import { Kycs } from "./resources/kycs.ts";
import { Exports, Ledger } from "./resources/ledger.ts";
import { Limits } from "./resources/limits.ts";
import { Me } from "./resources/me.ts";
import { Offramps } from "./resources/offramps.ts";
import { Onramps } from "./resources/onramps.ts";
import { PaymentDetails } from "./resources/payment-details.ts";
import { Proposals } from "./resources/proposals.ts";
import { Quotes } from "./resources/quotes.ts";
import { Records } from "./resources/records.ts";
import { Sandbox } from "./resources/sandbox.ts";
import { ScreeningMatches } from "./resources/screening-matches.ts";
import { TravelRecords } from "./resources/travel-records.ts";
import { Users } from "./resources/users.ts";
import { WebhookEvents } from "./resources/webhook-events.ts";
import type { Answer, Input, Method, PathOf } from "./types.ts";
import { API_VERSION } from "./version.ts";

const TIMEOUT_MS = 60_000;
const RETRIES_MAX = 3;

export type SliproadOptions = {
  /** The URL of your Sliproad, such as `http://127.0.0.1:4000`. */
  baseUrl: string;
  /** Replaces the platform's fetch, for example to use a proxy. */
  fetch?: Fetch | undefined;
  /** For one attempt, including its response; default 60 000, Infinity for no limit. */
  timeout_ms?: number | undefined;
  /** How often a call that failed for a temporary reason is repeated; default 3. */
  retries_max?: number | undefined;
  /** The version of the API to use; default: the one this client was written for. */
  version?: string | undefined;
} & (
  | {
      /** Never in a browser: anyone who reads it can pay out of your account. */
      apiKey: string;
      accessToken?: undefined;
    }
  | {
      /** An OAuth access token, or a function that returns a fresh one before every attempt. */
      accessToken: string | (() => string | Promise<string>);
      apiKey?: undefined;
    }
);

/** The client. One instance can serve a whole program. */
export class Sliproad {
  readonly users: Users;
  readonly kycs: Kycs;
  readonly paymentDetails: PaymentDetails;
  readonly quotes: Quotes;
  readonly conversions: Conversions;
  readonly exports: Exports;
  readonly exposures: Exposures;
  readonly ledger: Ledger;
  readonly fees: Fees;
  readonly limits: Limits;
  readonly records: Records;
  readonly offramps: Offramps;
  readonly onramps: Onramps;
  readonly deposits: Deposits;
  readonly screeningMatches: ScreeningMatches;
  readonly travelRecords: TravelRecords;
  readonly balances: Balances;
  readonly refunds: Refunds;
  readonly refundAddresses: RefundAddresses;
  readonly invoices: Invoices;
  readonly apps: Apps;
  readonly webhookEvents: WebhookEvents;
  readonly me: Me;
  readonly proposals: Proposals;
  readonly sandbox: Sandbox;
  readonly #api: Api;

  constructor(options: SliproadOptions) {
    const api = new Api({
      base_url: readBaseUrl(options.baseUrl),
      authorization: readCredential(options),
      version: checkHeader("version", options.version ?? API_VERSION),
      // Called as a plain function: browsers refuse a fetch that is called as a method.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      timeout_ms: checkTimeout(options.timeout_ms ?? TIMEOUT_MS),
      retries_max: checkRetries(options.retries_max ?? RETRIES_MAX),
    });
    this.#api = api;
    this.users = new Users(api);
    this.kycs = new Kycs(api);
    this.paymentDetails = new PaymentDetails(api);
    this.quotes = new Quotes(api);
    this.conversions = new Conversions(api);
    this.exports = new Exports(api);
    this.exposures = new Exposures(api);
    this.ledger = new Ledger(api);
    this.fees = new Fees(api);
    this.limits = new Limits(api);
    this.records = new Records(api);
    this.offramps = new Offramps(api);
    this.onramps = new Onramps(api);
    this.deposits = new Deposits(api);
    this.screeningMatches = new ScreeningMatches(api);
    this.travelRecords = new TravelRecords(api);
    this.balances = new Balances(api);
    this.refunds = new Refunds(api);
    this.refundAddresses = new RefundAddresses(api);
    this.invoices = new Invoices(api);
    this.apps = new Apps(api);
    this.webhookEvents = new WebhookEvents(api);
    this.me = new Me(api);
    this.proposals = new Proposals(api);
    this.sandbox = new Sandbox(api);
  }

  /** Calls any route of the OpenAPI document, with the same types, keys, retries and errors. */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<M, P>,
    options?: CallOptions,
  ): Promise<Answer<M, P>> {
    return this.#api.send(method, path, input, options);
  }
}

function readBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new TypeError(`baseUrl must be an http address, not ${JSON.stringify(text)}.`);
  }
  const { username, password, search, hash } = new URL(text);
  // Not repeated in the message: it may contain a password.
  if (username || password || search || hash) {
    throw new TypeError("baseUrl must end with its host or path, and hold no name and password.");
  }
  let url = text;
  while (url.endsWith("/")) url = url.slice(0, -1);
  return url;
}

function readCredential({ apiKey, accessToken }: SliproadOptions): () => Promise<string> {
  if (apiKey && accessToken) throw new TypeError("Give apiKey or accessToken, not both.");
  const credential = apiKey ?? accessToken;
  if (!credential) throw new TypeError("Give apiKey or accessToken; both are empty.");
  if (apiKey && isBrowser()) {
    throw new TypeError("An API key must not reach a browser; use accessToken there.");
  }
  const name = apiKey ? "apiKey" : "accessToken";
  if (typeof credential !== "function") checkHeader(name, credential);
  return async () => {
    const text = typeof credential === "function" ? await credential() : credential;
    return `Bearer ${checkHeader(name, text)}`;
  };
}

/** Rejects values that are invalid in a header. The message omits the value: it may be a secret. */
function checkHeader(name: string, value: string): string {
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new TypeError(`${name} must be printable ASCII characters without spaces or line breaks.`);
}
