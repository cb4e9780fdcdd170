import { afterAll, beforeAll, expect, test } from "vitest";
import { addPageScope, requireSession, sendPage } from "../../src/accounts/page-scope.ts";
import { html } from "../../src/platform/http/html.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";
import { useRateClock } from "./rate-clock.ts";

const ADMIN = "ada@example.test";
const ACCOUNTANT = "otto@example.test";

useRateClock();
let server: AccessServer;

beforeAll(async () => {
  server = await startAccessServer({
    public_url: "http://127.0.0.1:4000",
    extend: (app, deps) =>
      addPageScope(app, deps, (scope) => {
        scope.get("/admins", { onRequest: requireSession("manage_consents") }, (_request, reply) =>
          sendPage(reply, html`<p>for admins</p>`),
        );
        scope.get("/broken", () => {
          throw new Error("a secret of the inside");
        });
      }),
  });
  const account_id = await server.addAccount("demo", true);
  await server.addMember(account_id, ADMIN, "admin");
  await server.addMember(account_id, ACCOUNTANT, "accountant");
});

afterAll(() => server.close());

function visitor(): HttpVisitor {
  return new HttpVisitor(server.app);
}

test("a page redirects to sign-in and back to the requested page", async () => {
  const ada = visitor();
  const answer = await ada.get("/dashboard");
  expect(answer.statusCode).toBe(303);
  expect(answer.headers.location).toBe("/sign-in?next=/dashboard");
  const signed_in = await ada.signIn(ADMIN, { next: "/admins?page=2" });
  expect(signed_in.headers.location).toBe("/admins?page=2");
  expect((await ada.get("/")).headers.location).toBe("/dashboard");
});

test.each([
  "//evil.example",
  "/\\evil.example",
  "\\\\evil.example",
  "https://evil.example/",
  "https:evil.example",
  "/\t/evil.example",
  "/.//evil.example",
  "/a/..//evil.example",
  "javascript:alert(1)",
  "evil.example",
])("a page never redirects to another site: next=%j", async (next) => {
  const ada = visitor();
  await ada.signIn(ADMIN);
  const query = new URLSearchParams({ next }).toString();
  expect((await ada.get(`/sign-in?${query}`)).headers.location).toBe("/dashboard");
  const form = await visitor().get(`/sign-in?${query}`);
  expect(form.body).toContain('name="next" value="/dashboard"');
  const answer = await visitor().signIn(ADMIN, { next });
  expect(answer.headers.location).toBe("/dashboard");
});

test("a page for another role answers 403 with a page for people", async () => {
  const otto = visitor();
  await otto.signIn(ACCOUNTANT);
  const answer = await otto.get("/admins");
  expect(answer.statusCode).toBe(403);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.body).toContain("Your role does not have access to this page.");
  const ada = visitor();
  await ada.signIn(ADMIN);
  expect((await ada.get("/admins")).statusCode).toBe(200);
});

test("a page forbids scripts, frames and foreign forms", async () => {
  const { headers } = await visitor().get("/sign-in");
  expect(headers["content-security-policy"]).toBe(
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
      "img-src 'self' data:; base-uri 'none'",
  );
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["referrer-policy"]).toBe("same-origin");
});

test("a page escapes user input", async () => {
  const email = `"><script>alert('x')</script>@example.test`;
  const answer = await visitor().signIn(email, { password: "wrong" });
  expect(answer.body).not.toContain("<script>");
  expect(answer.body).toContain("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)");
});

test("an error is a page for browsers and JSON for programs, without secrets", async () => {
  const ada = visitor();
  const unknown = await ada.get("/nowhere");
  expect(unknown.statusCode).toBe(404);
  expect(unknown.body).toContain("Page not found");
  const broken = await ada.get("/broken");
  expect(broken.statusCode).toBe(500);
  expect(broken.body).not.toContain("secret");
  expect(broken.body).toContain(broken.headers["x-request-id"]);
  const for_program = await ada.get("/nowhere", { accept: "application/json" });
  expect(for_program.json()).toMatchObject({ error_code: "route_not_found", status: 404 });
});

test("a page links a stylesheet that the browser may cache", async () => {
  const path = /href="(\/assets\/pages\.css\?[^"]+)"/.exec((await visitor().get("/sign-in")).body);
  const answer = await visitor().get(path![1]!);
  expect(answer.headers["content-type"]).toBe("text/css; charset=utf-8");
  expect(answer.headers["cache-control"]).toContain("immutable");
  expect((await visitor().get("/assets/pages.css")).headers["cache-control"]).toBe("no-cache");
});
