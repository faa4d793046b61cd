/** What became of an attempt: `refused` is final. */
export type Handed = 'taken' | 'refused' | 'later'

export type NoticeMail = {
  /** Tries once. */
  send(letter: {
    readonly kind: string
    readonly to: string
    readonly subject: string
    readonly text: string
    /** The same in every attempt, so that mailboxes recognise a repetition. */
    readonly id: string
    readonly unsubscribeUrl: string
  }): Promise<Handed>
}
