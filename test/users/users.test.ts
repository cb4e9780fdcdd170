import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("POST /users", () => {
  it("creates a user and shows it again, every absent field null", async () => {
    const made = await server.call("POST", "/users", {
      user: {
        beneficiary_type: "individual",
        email: "Ana.Invented@Example.com",
        first_name: "Ana",
        last_name: "Invented",
        date_of_birth: "1990-02-28",
      },
    });
    expect(made.status).toBe(200);
    expect(made.body.user).toMatchObject({
      email: "ana.invented@example.com",
      date_of_birth: "28/02/1990",
      company_name: null,
      metadata: {},
      kyc: { general: { status: "not_started", moderation_comment: null } },
    });
    const shown = await server.call("GET", `/users/${made.body.user.id}`);
    expect(shown.text).toBe(made.text);
  });
});
