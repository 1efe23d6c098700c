/** What stands in place of a figure when one of the calls behind it has failed. */
import { Failed } from "../../components/states";
import type { Resource } from "../../hooks";

export function trouble(...all: readonly Resource<unknown>[]) {
  const failed = all.find((one) => one.status === "error");
  return failed?.error ? <Failed error={failed.error} retry={failed.retry} /> : null;
}
