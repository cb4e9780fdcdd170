import type { AdapterPayload } from "oidc-provider";
import type { App } from "../model.ts";
import { applicationType } from "../redirect-uris.ts";
import { ALL_SCOPES, APP_SCOPES } from "./model.ts";

/** The account of an application, among its metadata. */
export const APP_ACCOUNT = "app_account_id";

/** An application as client metadata of the OAuth library; each has one flow. */
export function clientOf(app: App): AdapterPayload {
  const by_flow =
    app.flow === "authorization_code"
      ? {
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code" as const],
          redirect_uris: app.redirect_uris,
          application_type: applicationType(app.redirect_uris),
          scope: ALL_SCOPES.join(" "),
        }
      : {
          grant_types: ["client_credentials"],
          response_types: [],
          redirect_uris: [],
          scope: APP_SCOPES.join(" "),
        };
  return {
    client_id: app.id,
    client_name: app.name,
    [APP_ACCOUNT]: app.account_id,
    // The hash, which `compareClientSecret` expects.
    client_secret: app.client_secret_hash.toString("base64url"),
    // With this value the library accepts the secret in the header or in the body.
    token_endpoint_auth_method: "client_secret_basic",
    ...by_flow,
  };
}
