import { Refusal } from "../../platform/errors.ts";
import { parseJsonBody } from "../../platform/http/json-body.ts";
import { quoted } from "../../platform/problems.ts";
import { APP_SCOPES, AUDIENCE_RULE, isAudience, readScopes } from "./model.ts";

/** An OAuth error response. */
export class OauthError extends Error {
  readonly error: string;
  readonly status: number;

  constructor(error: string, description: string, status = 400) {
    super(description);
    this.error = error;
    this.status = status;
  }
}

/** Many clients send JSON where OAuth requires a form: each field becomes a form field. */
export function formOfJson(json: string): string {
  const fields = readJson(json);
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new OauthError("invalid_request", "the body must be a JSON object");
  }
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue;
    if (typeof value === "object") {
      throw new OauthError("invalid_request", `${quoted(name)} must be a string`);
    }
    form.append(name, String(value));
  }
  return form.toString();
}

function readJson(json: string): unknown {
  try {
    const { value, problems } = parseJsonBody(Buffer.from(json));
    if (problems.length > 0) throw Refusal.of(problems);
    return value;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const [problem] = error.problems;
    throw new OauthError("invalid_request", problem ? problem.message : error.message);
  }
}

/** Checks what the library does not at the token endpoint: the audience and unknown scopes. */
export function checkTokenForm(form: string): string {
  const fields = new URLSearchParams(form);
  for (const name of ["audience", "scope"]) {
    if (fields.getAll(name).length > 1) {
      throw new OauthError("invalid_request", `send ${name} once`);
    }
  }
  if (!isAudience(fields.get("audience"))) throw new OauthError("invalid_target", AUDIENCE_RULE);
  const { asked, unknown } = readScopes(fields.get("scope") ?? "");
  if (unknown.length > 0) {
    throw new OauthError(
      "invalid_scope",
      `not a scope of this server: ${quoted(unknown.join(" "))}`,
    );
  }
  if (asked.length > 0 || fields.get("grant_type") !== "client_credentials") return form;
  fields.set("scope", APP_SCOPES.join(" "));
  return fields.toString();
}
