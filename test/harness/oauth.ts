import { createHash, randomBytes } from "node:crypto";
import { createMember } from "../../src/accounts/create-member.ts";
import type { Role } from "../../src/accounts/model.ts";
import { startSession } from "../../src/accounts/sign-in/sessions.ts";
import { createOneApp } from "../../src/apps/create-apps.ts";
import type { AppFlow } from "../../src/apps/model.ts";
import { PASSWORD, PASSWORD_HASH } from "./password.ts";
import type { Answer, TestServer } from "./server.ts";

export const REDIRECT_URI = "https://client.example.test/callback";
const BY = { actor: "command line", reason: "test" } as const;
const STEPS_MAX = 10;

export type Client = { id: string; secret: string };
export type Tokens = {
  access_token: string;
  refresh_token?: string;
  id_token?: string;
  scope: string;
  expires_in: number;
  token_type: string;
};

/** An application of the account, as Settings › Developer › Apps creates it. */
export async function addApp(
  { core }: TestServer,
  account_id: string,
  input: { flow?: AppFlow; name?: string; redirect_uris?: string[] } = {},
): Promise<Client> {
  const {
    flow = "authorization_code",
    name = "Ledger Lamp",
    redirect_uris = [REDIRECT_URI],
  } = input;
  const fields = { name, flow, redirect_uris, is_ordered: false };
  const { endpoint, revealed } = await createOneApp(core, account_id, fields, BY);
  return { id: endpoint.id, secret: revealed.client_secret! };
}

export async function addMember(
  { core }: TestServer,
  account_id: string,
  email: string,
  role: Role = "admin",
): Promise<string> {
  const { database, index_key, clock } = core;
  const input = { account_id, email, password_hash: PASSWORD_HASH, role, ...BY };
  const member = await database.transaction((tx) =>
    createMember(tx, index_key, input, clock.now()),
  );
  return member.person_id;
}

export type PageAnswer = {
  status: number;
  location: string | null;
  text: string;
  url: string;
  /** Its Content-Security-Policy. */
  policy: string | null;
};

type Cookies = Map<string, { value: string; path: string }>;

/** A person's browser without a screen: keeps cookies by path, follows the service's redirects. */
export class Person {
  readonly #server: TestServer;
  readonly #cookies: Cookies;
  #csrf = "";

  constructor(server: TestServer, cookies: Cookies = new Map()) {
    this.#server = server;
    this.#cookies = cookies;
  }

  get(url: string): Promise<PageAnswer> {
    return this.#send("GET", url);
  }

  post(url: string, fields: Record<string, string>): Promise<PageAnswer> {
    return this.#send("POST", url, new URLSearchParams({ csrf: this.#csrf, ...fields }));
  }

  /** A request to the API as the dashboard sends it. */
  async call(method: string, url: string, body?: unknown): Promise<Answer> {
    if (this.#csrf === "") await this.get("/dashboard/security");
    return this.#server.call(method, url, body, {
      key: null,
      headers: { cookie: this.#cookiesFor(url), "x-csrf-token": this.#csrf },
    });
  }

  async signIn(email: string, next = "/dashboard"): Promise<PageAnswer> {
    await this.get("/sign-in?again=1");
    return this.post("/sign-in", { email, password: PASSWORD, next });
  }

  /** The same browser, routed to another process of the service. */
  through(server: TestServer): Person {
    const person = new Person(server, this.#cookies);
    person.#csrf = this.#csrf;
    return person;
  }

  /** Signed in a minute ago, without the form: sign-in attempts are limited. */
  static async signedIn(
    server: TestServer,
    account_id: string,
    person_id: string,
  ): Promise<Person> {
    const { database, index_key } = server.core;
    const then = new Date(Date.now() - 60_000);
    const member = { account_id, person_id };
    const value = await database.transaction(async (tx) =>
      startSession(tx, index_key, member, then),
    );
    const person = new Person(server);
    const prefix = person.#publicUrl().startsWith("https:") ? "__Host-" : "";
    person.#cookies.set(`/ ${prefix}sliproad_session`, { value, path: "/" });
    return person;
  }

  /** Follows redirects until the service shows a page or redirects to another site. */
  async follow(answer: PageAnswer): Promise<PageAnswer> {
    let at = answer;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      if (at.location === null || !this.#isOurs(at.location)) return at;
      at = await this.get(at.location);
    }
    throw new Error(`more than ${STEPS_MAX} redirects, the last to ${at.location}`);
  }

  async visit(url: string): Promise<PageAnswer> {
    return this.follow(await this.get(url));
  }

  #isOurs(location: string): boolean {
    return location.startsWith("/") || location.startsWith(this.#publicUrl());
  }

  #publicUrl(): string {
    return this.#server.core.config.public_url ?? this.#server.url;
  }

  async #send(method: string, url: string, form?: URLSearchParams): Promise<PageAnswer> {
    const target = new URL(url.replace(this.#publicUrl(), ""), this.#server.url);
    const answer = await fetch(target, {
      method,
      redirect: "manual",
      headers: { accept: "text/html", cookie: this.#cookiesFor(target.pathname) },
      ...(form ? { body: form } : {}),
    });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    const text = await answer.text();
    this.#csrf = /name="csrf" value="([^"]*)"/.exec(text)?.[1] ?? this.#csrf;
    const refresh = /^0;url=(.*)$/.exec(answer.headers.get("refresh") ?? "")?.[1];
    const location = answer.headers.get("location") ?? refresh ?? null;
    const policy = answer.headers.get("content-security-policy");
    return { status: answer.status, location, text, url: target.pathname, policy };
  }

  #keep(line: string): void {
    const [pair = "", ...attributes] = line.split(/; ?/);
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    const path = attributes.find((text) => /^path=/i.test(text))?.slice(5) ?? "/";
    const is_over = attributes.some((text) => /^expires=Thu, 01 Jan 1970/i.test(text));
    if (value === "" || is_over) this.#cookies.delete(`${path} ${name}`);
    else this.#cookies.set(`${path} ${name}`, { value, path });
  }

  #cookiesFor(path: string): string {
    return [...this.#cookies]
      .filter(([, cookie]) => path.startsWith(cookie.path))
      .map(([name, { value }]) => `${name.split(" ")[1]}=${value}`)
      .join("; ");
  }
}

export type Asking = { url: string; verifier: string; state: string };

/** The URL that an application sends a person to, with PKCE. */
export function askFor(
  client: Client,
  scope: string,
  others: Record<string, string | undefined> = {},
): Asking {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const fields: Record<string, string | undefined> = {
    response_type: "code",
    client_id: client.id,
    redirect_uri: REDIRECT_URI,
    scope,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...others,
  };
  const given = Object.entries(fields).filter((pair): pair is [string, string] => !!pair[1]);
  return { url: `/authorize?${new URLSearchParams(given)}`, verifier, state };
}

/** The parameters in the URL that the person was redirected back to. */
export function comeBack(answer: PageAnswer): Record<string, string> {
  const { location } = answer;
  if (!location?.startsWith(REDIRECT_URI)) {
    throw new Error(`not back at the application: ${answer.status} ${location} ${answer.text}`);
  }
  const { searchParams, hash } = new URL(location);
  return Object.fromEntries([...searchParams, ...new URLSearchParams(hash.slice(1))]);
}

export function post(
  server: TestServer,
  path: string,
  client: Client | null,
  fields: Record<string, string>,
): Promise<Answer> {
  const basic = client && Buffer.from(`${client.id}:${client.secret}`).toString("base64");
  return server.call("POST", path, undefined, {
    key: null,
    raw: new URLSearchParams(fields).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(basic ? { authorization: `Basic ${basic}` } : {}),
    },
  });
}

export function exchangeCode(
  server: TestServer,
  client: Client,
  code: string,
  verifier: string,
  others: Record<string, string> = {},
): Promise<Answer> {
  return post(server, "/oauth/token", client, {
    grant_type: "authorization_code",
    code,
    code_verifier: verifier,
    redirect_uri: REDIRECT_URI,
    ...others,
  });
}

export function refresh(server: TestServer, client: Client, refresh_token: string) {
  return post(server, "/oauth/token", client, { grant_type: "refresh_token", refresh_token });
}

/** The whole flow: the person is signed in, consents for the account, and the code is exchanged. */
export async function letIn(
  server: TestServer,
  person: Person,
  client: Client,
  scope: string,
  account_id: string,
): Promise<Tokens> {
  const { url, verifier } = askFor(client, scope);
  const asked = await person.visit(url);
  const back = asked.url.startsWith("/consent/")
    ? await person.follow(await person.post(asked.url, { account_id, decision: "allow" }))
    : asked;
  const answer = await exchangeCode(server, client, comeBack(back).code!, verifier);
  if (answer.status !== 200) throw new Error(`no tokens: ${answer.text}`);
  return answer.body;
}
