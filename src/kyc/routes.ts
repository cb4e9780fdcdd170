import Type from "typebox";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import { titledObject, UUID } from "../platform/schema-parts.ts";
import { createKycSessions } from "./create-kyc-sessions.ts";

const KycAnswer = Type.Object({
  kyc: titledObject("KycSession", {
    user_id: UUID,
    url: Type.String({ description: "URL of the verification page; valid for 24 hours." }),
  }),
});
const writeKyc = compileRender(KycAnswer);

export function addKycRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  const { executor, keyring, index_key, public_url } = deps;
  const submit = executor.register(
    createKycSessions(keyring, index_key, (user_id, token) =>
      writeKyc({ kyc: { user_id, url: `${public_url()}/kyc/${token}` } }),
    ),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/kycs",
    operation: "createKycSession",
    summary: "Create a KYC session",
    description:
      "Answers the URL of a page on which the user verifies their identity. The URL is valid " +
      "for 24 hours and replaces the previous one.",
    tag: "KYC",
    answer: KycAnswer,
    errors: ["invalid_transition"],
    handle: ({ params, problems, command }) =>
      submit(command({ user_id: params.user_id, problems })),
  });
}
