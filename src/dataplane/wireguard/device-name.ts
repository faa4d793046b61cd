/** Linux takes 15 characters; one is left for the device beside it that queues what peers send. */
export const deviceNamePattern = /^[a-z][a-z0-9_-]{0,13}$/

export const queueNameOf = (device: string): string => `${device}u`
