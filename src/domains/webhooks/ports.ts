/** The request of one attempt. */
export type WebhookMessage = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** In a sandbox, http and loopback addresses are allowed. */
  readonly isSandbox: boolean
  readonly limitMs: number
}

/** The result: `problem` is null if an answer came, whatever its status. */
export type EndpointAnswer = {
  readonly status: number | null
  readonly problem: string | null
  readonly retryAfterMs: number | null
}

/** Sends messages to one endpoint, one after another. It may keep the connection open between two of them. */
export type Sender = { send(message: WebhookMessage): Promise<EndpointAnswer>; close(): void }
/** Opens a sender for an endpoint's address. */
export type OpenSender = (url: string) => Sender
