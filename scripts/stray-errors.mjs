// A reporter of vitest: writes the number of errors that belong to no test, which the report in JSON
// does not contain.
import { writeFileSync } from "node:fs";

export default class {
  onTestRunEnd(_modules, errors) {
    writeFileSync(process.env.STRAY_ERRORS_FILE, `${errors.length}`);
  }
}
