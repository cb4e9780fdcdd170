/** What the worker asks of a log; Fastify's and pino's fit. */
export type TaskLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
