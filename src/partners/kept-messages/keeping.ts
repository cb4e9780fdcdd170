/** How messages of one kind are kept that cannot be applied yet. */
export type Keeping<Message> = {
  /** The kind of the task that applies them, by which kinds of messages are told apart too. */
  kind: string;
  /** What they are called in the log. */
  what: string;
  /** The record that a message concerns: the messages of a record are applied in their order. */
  recordOf(message: Message): string;
  /** Names a message within its account: it is kept once. */
  referenceOf(message: Message): string;
  toText(message: Message): string;
  fromText(text: string): Message;
};
