import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy between the program and PostgreSQL that causes the failures a test chooses. */
export type CuttingProxy = {
  /** The database's URL, through the proxy. */
  url: string;
  /** How many transactions were disturbed so far. */
  cuts(): number;
  /** How many connections were refused so far. */
  refusals(): number;
  /** Disturbs the next `times` transactions that contain a matching statement. */
  spoil(spoilage: Spoilage): void;
  /** From now on connections are refused; open ones are cut. */
  goDown(): void;
  comeUp(): void;
  /** Forwards what "hold_writes" delayed, to a server whose client is gone. */
  releaseWrites(): void;
  close(): Promise<void>;
};

export type Spoilage = {
  /** Selects the transaction by a statement in it. */
  matches: (statement: string) => boolean;
  how:
    | "lose_statement" // the connection is cut before the statement is forwarded
    | "lose_commit" // the connection is cut before COMMIT is forwarded
    | "lose_answer" // COMMIT is executed, its answer is dropped, the connection is cut
    | "lose_answer_and_go_down" // the same, and new connections are refused
    | "keep_answer" // COMMIT is executed, its answer is dropped, the connection stays
    | "hold_writes" // statement and COMMIT are delayed, the client is cut
    | "warn"; // COMMIT is answered with a warning
  times?: number;
};

const COMMITTED = Buffer.from("C\0\0\0\x0bCOMMIT\0", "latin1");

export async function startCuttingProxy(database_url: string): Promise<CuttingProxy> {
  const target = new URL(database_url);
  const state: State = { spoilage: null, left: 0, cuts: 0, relays: new Set() };
  let is_up = true;
  let refusals = 0;
  const cutAll = () => {
    for (const relay of state.relays) relay.cut();
  };
  const goDown = () => {
    is_up = false;
    cutAll();
  };
  const server = createServer((client) => {
    if (!is_up) {
      refusals += 1;
      client.resetAndDestroy();
    } else {
      const upstream = connect(Number(target.port), target.hostname);
      state.relays.add(new Relay(client, upstream, state, goDown));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(database_url);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cuts: () => state.cuts,
    refusals: () => refusals,
    spoil: (spoilage) => {
      Object.assign(state, { spoilage, left: spoilage.times ?? 1 });
    },
    goDown,
    comeUp: () => {
      is_up = true;
    },
    releaseWrites: () => {
      for (const relay of state.relays) relay.releaseWrites();
    },
    close: async () => {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}

type State = {
  spoilage: Spoilage | null;
  left: number;
  cuts: number;
  relays: Set<Relay>;
};

/** One connection: forwards bytes in both directions, the client's message by message. */
class Relay {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #state: State;
  readonly #goDown: () => void;
  #spoilage: Spoilage | null = null;
  #held: Buffer[] = [];
  #is_committing = false;
  #answer = Buffer.alloc(0);

  constructor(client: Socket, upstream: Socket, state: State, goDown: () => void) {
    this.#client = client;
    this.#upstream = upstream;
    this.#state = state;
    this.#goDown = goDown;
    const read = messageReader();
    client.on("data", (chunk) => {
      for (const message of read(chunk as Buffer)) this.#fromClient(message);
    });
    upstream.on("data", (chunk) => this.#fromServer(chunk as Buffer));
    client.on("error", () => {}).on("close", () => this.#clientGone());
    upstream.on("error", () => {}).on("close", () => this.cut());
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#upstream.destroy();
    this.#state.relays.delete(this);
  }

  releaseWrites(): void {
    if (this.#held.length > 0) this.#upstream.end(Buffer.concat(this.#held));
  }

  /** Delayed writes must still be able to reach their server. */
  #clientGone(): void {
    if (this.#held.length === 0) this.cut();
  }

  #fromClient({ text, bytes }: Message): void {
    if (this.#client.destroyed && this.#held.length === 0) return;
    if (!this.#spoilage && this.#state.left > 0 && this.#state.spoilage?.matches(text)) {
      this.#spoilage = this.#state.spoilage;
      this.#state.left -= 1;
      this.#state.cuts += 1;
    }
    const is_commit = text === "commit\0";
    const how = this.#spoilage?.how;
    if (how === "lose_statement" || (how === "lose_commit" && is_commit)) this.cut();
    else if (how === "hold_writes") {
      this.#held.push(bytes);
      // Everything sent in one flush is delayed; then the client loses its connection.
      if (is_commit) this.#client.resetAndDestroy();
    } else {
      if (is_commit && how) this.#is_committing = true;
      this.#upstream.write(bytes);
    }
  }

  #fromServer(chunk: Buffer): void {
    if (!this.#is_committing) {
      this.#client.write(chunk);
      return;
    }
    this.#answer = Buffer.concat([this.#answer, chunk]);
    const at = this.#answer.indexOf(COMMITTED);
    if (at < 0) return;
    const how = this.#spoilage?.how;
    if (how === "lose_answer") this.cut();
    if (how === "lose_answer_and_go_down") this.#goDown();
    if (how === "warn") {
      const [before, after] = [this.#answer.subarray(0, at), this.#answer.subarray(at)];
      this.#client.write(Buffer.concat([before, commitWarning(), after]));
      this.#spoilage = null;
      this.#is_committing = false;
      this.#answer = Buffer.alloc(0);
    }
  }
}

type Message = { text: string; bytes: Buffer };

/** Splits the client's stream into messages: type, length, content. The first one has no type. */
function messageReader(): (chunk: Buffer) => Message[] {
  let rest = Buffer.alloc(0);
  let type_bytes = 0;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    while (rest.length >= type_bytes + 4) {
      const length = type_bytes + rest.readInt32BE(type_bytes);
      if (rest.length < length) break;
      const bytes = rest.subarray(0, length);
      messages.push({ text: bytes.subarray(type_bytes + 4).toString("latin1"), bytes });
      rest = rest.subarray(length);
      type_bytes = 1;
    }
    return messages;
  };
}

/**
 * As PostgreSQL sends it, in its own language, if a commit stopped waiting for a synchronous
 * standby, and a distributed one if another node did not commit.
 */
function commitWarning(): Buffer {
  const fields = ["SWARNUNG", "C01000", "Mfailed to commit the transaction on another node"];
  const content = Buffer.from(`${fields.join("\0")}\0\0`);
  const head = Buffer.alloc(5);
  head.write("N");
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}
