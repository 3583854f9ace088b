// kafkajs's client; ../README.md says what it is asked and what it prints. NODE_PATH says where kafkajs is.
"use strict";

const { readFileSync } = require("node:fs");
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const asked = JSON.parse(readFileSync(0, "utf8"));
  const kafka = new Kafka({
    brokers: [asked.servers],
    ssl: tls(asked),
    sasl: login(asked),
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  });
  const limit = setTimeout(() => {
    console.log(`refused nothing said for ${asked.timeoutS} s`);
    process.exit();
  }, asked.timeoutS * 1000);
  try {
    await write(kafka, asked);
    console.log("written");
    await read(kafka, asked);
    console.log("read");
  } catch (error) {
    console.log(`refused ${error.name}: ${error.message}`);
  }
  clearTimeout(limit);
}

async function write(kafka, { topic, value }) {
  const producer = kafka.producer();
  try {
    await producer.connect();
    await producer.send({ topic, messages: [{ value }] });
  } finally {
    await producer.disconnect();
  }
}

async function read(kafka, { topic, value }) {
  const consumer = kafka.consumer({ groupId: topic });
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise((found, failed) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
      const eachMessage = async ({ message }) => {
        if (message.value.toString() === value) found();
      };
      consumer.run({ eachMessage }).catch(failed);
    });
  } finally {
    await consumer.disconnect();
  }
}

function tls({ authority, certificate }) {
  if (!authority) return undefined;
  const pair = certificate && readFileSync(certificate);
  return { ca: readFileSync(authority), ...(pair && { key: pair, cert: pair }) };
}

function login({ mechanism, user, password, token }) {
  if (!mechanism) return undefined;
  if (mechanism === "OAUTHBEARER") {
    return { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: token }) };
  }
  return { mechanism: mechanism.toLowerCase(), username: user, password };
}

main();
