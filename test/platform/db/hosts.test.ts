import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../../src/platform/db/database.ts";
import { describeHosts, readHosts } from "../../../src/platform/db/hosts.ts";
import { DatabaseUnavailableError } from "../../../src/platform/db/outages.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

describe("the URL of a database", () => {
  it("with one host is left as it is", () => {
    const url = "postgres://u:p@db.internal:5433/sliproad?sslmode=require";
    expect(readHosts(url)).toEqual({ urls: [url], must_write: false });
  });

  it("with several hosts becomes one for each, and asks for the primary", () => {
    expect(readHosts("postgresql://u:p@one:5432,[::1]:5433,three/sliproad")).toEqual({
      urls: [
        "postgresql://u:p@one:5432/sliproad",
        "postgresql://u:p@[::1]:5433/sliproad",
        "postgresql://u:p@three/sliproad",
      ],
      must_write: true,
    });
  });

  it("says itself which server will do", () => {
    const url = "postgres://u@one,two/s?target_session_attrs=any&sslmode=require";
    expect(readHosts(url)).toEqual({
      urls: ["postgres://u@one/s?sslmode=require", "postgres://u@two/s?sslmode=require"],
      must_write: false,
    });
    expect(readHosts("postgres://u@one/s?target_session_attrs=read-write")).toEqual({
      urls: ["postgres://u@one/s"],
      must_write: true,
    });
  });

  it.each([
    "mysql://u@one/s",
    "postgres://u@one,,two/s",
    "postgres://u@one:port,two/s",
    "postgres://u@one,two/s?target_session_attrs=standby",
    "one,two",
  ])("%s is refused", (url) => expect(readHosts(url)).toBeNull());

  it("is shown to people without its password", () => {
    expect(describeHosts("postgres://u:secret@one:5433,two/s")).toBe("one:5433, two:5432");
  });
});

describe("several hosts", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  /** Nobody listens on this port. */
  const DEAD = "127.0.0.1:1";

  it("the first that answers is used, and first the next time", async () => {
    const { host } = new URL(db.url);
    const url = db.url.replace(host, `${DEAD},${host}`);
    const database = openDatabase({ url, connections_max: 2 });
    try {
      for (let round = 0; round < 3; round += 1) {
        expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
      }
    } finally {
      await database.close();
    }
  });

  it("if none answers, or the server refuses, the database is unavailable", async () => {
    const wrong = new URL(db.url);
    wrong.pathname = "/no_such_database";
    for (const url of [`postgres://u@${DEAD},${DEAD}/s`, wrong.href]) {
      const database = openDatabase({ url, connections_max: 1 });
      await expect(database.query("select 1")).rejects.toBeInstanceOf(DatabaseUnavailableError);
      await database.close();
    }
  });
});
