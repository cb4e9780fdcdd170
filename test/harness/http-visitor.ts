import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { PASSWORD } from "./password.ts";

const SIGN_IN_PATH = "/sign-in";

/** A browser without a screen: keeps cookies, sends forms with the token of the previous page. */
export class HttpVisitor {
  readonly cookies = new Map<string, string>();
  readonly #app: FastifyInstance;
  readonly #address: string;
  /** The token of the last page that had a form. */
  csrf = "";

  constructor(app: FastifyInstance, address = "203.0.113.1") {
    this.#app = app;
    this.#address = address;
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    const accept = "text/html";
    return this.#keep(await this.#inject({ method: "GET", url, headers: { accept, ...headers } }));
  }

  async post(url: string, fields: Record<string, string>): Promise<LightMyRequestResponse> {
    const headers = {
      accept: "text/html",
      "content-type": "application/x-www-form-urlencoded",
    };
    const payload = new URLSearchParams({ csrf: this.csrf, ...fields }).toString();
    return this.#keep(await this.#inject({ method: "POST", url, headers, payload }));
  }

  /** A request to the API as the dashboard sends it. */
  async call(method: string, url: string, payload?: object): Promise<LightMyRequestResponse> {
    const headers = { "x-csrf-token": this.csrf, "content-type": "application/json" };
    const body = payload === undefined ? {} : { headers, payload: JSON.stringify(payload) };
    const given = { headers: { "x-csrf-token": this.csrf }, ...body };
    return this.#inject({ method: method as "GET", url, ...given });
  }

  async signIn(
    email: string,
    fields: Record<string, string> = {},
  ): Promise<LightMyRequestResponse> {
    await this.get(SIGN_IN_PATH);
    return this.post(SIGN_IN_PATH, { email, password: PASSWORD, ...fields });
  }

  #inject(request: {
    method: "GET" | "POST";
    url: string;
    headers: Record<string, string>;
    payload?: string;
  }): Promise<LightMyRequestResponse> {
    const cookies = Object.fromEntries(this.cookies);
    return this.#app.inject({ ...request, cookies, remoteAddress: this.#address });
  }

  #keep(answer: LightMyRequestResponse): LightMyRequestResponse {
    for (const { name, value } of answer.cookies) {
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const [, in_form, in_dashboard] =
      /name="csrf" value="([^"]*)"|"csrf":"([^"]*)"/.exec(answer.body) ?? [];
    this.csrf = in_form ?? in_dashboard ?? this.csrf;
    return answer;
  }
}
