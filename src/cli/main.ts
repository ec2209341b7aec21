const file = process.argv[2];
console.log((await import(`file://${process.cwd()}/${file}`)).default.name);
export {};
