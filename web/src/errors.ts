/** What can go wrong with a call. */

/** `status` 0 means that no server answered; `code` is the server's word for the problem. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}
