"""Embeds a corpus of any size with `wattn embed` under Apache Spark, with one warm process per partition.

    spark-submit examples/spark_embed.py TEXTS OUT [--partitions N] [--command "wattn embed --threads 1"]

TEXTS has one text (or one JSON object with "text") per line. OUT becomes a folder of part files which, concatenated, are byte for byte
what `wattn embed < TEXTS` writes: the same lines, in the same order. If a worker dies, another one repeats its partition. Every machine
needs Node and wattn. The command is split at blanks, as a shell would split it.
"""
import argparse

from pyspark.sql import SparkSession


def lines_of(context, path, partitions):
    """The lines of path, split only at line feeds, as wattn does (textFile would split at carriage returns too)."""
    records = context.newAPIHadoopFile(
        path, "org.apache.hadoop.mapreduce.lib.input.TextInputFormat", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text",
        conf={"textinputformat.record.delimiter": "\n", **split_size(context, path, partitions)})
    return records.values()


def split_size(context, path, partitions):
    """Splits sized so that there are about as many as requested; by default, Hadoop's blocks."""
    if partitions is None:
        return {}
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    size = place.getFileSystem(context._jsc.hadoopConfiguration()).getContentSummary(place).getLength()
    return {"mapreduce.input.fileinputformat.split.maxsize": str(max(1, -(-size // partitions)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("texts")
    parser.add_argument("out")
    parser.add_argument("--partitions", type=int, help="about how many processes in all; a few for each core (default: one per block)")
    parser.add_argument("--command", default="wattn embed --threads 1")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("wattn embed").getOrCreate()
    texts = lines_of(spark.sparkContext, options.texts, options.partitions)
    # checkCode: a process that ends with an error fails its partition, which Spark then retries (spark.task.maxFailures).
    texts.pipe(options.command, checkCode=True).saveAsTextFile(options.out)
    spark.stop()


if __name__ == "__main__":
    main()
